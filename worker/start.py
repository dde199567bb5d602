"""The start-up of worker and beat: settings, logging, error reporting."""

from __future__ import annotations

from celery.signals import setup_logging

from shared.errors import BridgeError
from shared.process.settings import Settings, load_settings
from shared.telemetry import reporting
from shared.telemetry.logs import configure_logging, get_logger, log_crashes, reason_fields


def begin(process: str) -> Settings | None:
    """Read the settings, and set up logging and error reporting by them.

    Args:
        process: worker or beat.

    Returns:
        The settings, or None if they are wrong, which was logged.
    """
    try:
        settings = load_settings()
    except BridgeError as error:
        configure_logging(None, process=process)  # the log format is among the unread settings
        get_logger(process).error("does not start", **reason_fields(error.notice))
        return None
    configure_logging(settings.log_format, process=process)
    log_crashes()
    try:
        reporting.start(settings, process)
    except BridgeError as error:
        get_logger(process).error("does not start", **reason_fields(error.notice))
        return None
    setup_logging.connect(_is_set_up, weak=False)
    return settings


def _is_set_up(**_: object) -> None:
    """Do nothing: Celery does not touch logging if this signal has a listener."""
