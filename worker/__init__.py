"""The worker process, which sends to the tracker, and beat, which starts periodic jobs."""
