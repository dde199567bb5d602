"""What makes a run worthless."""


class BrokenRun(Exception):
    """A side lost, doubled or refused something: its figures would mean nothing."""
