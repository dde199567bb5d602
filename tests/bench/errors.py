"""The error that invalidates a run."""


class BrokenRun(Exception):
    """A side lost, duplicated or refused something, so its figures would mean nothing."""
