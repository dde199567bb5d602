"""What worker and beat begin with: settings, logging, reporting."""

from __future__ import annotations

from celery.signals import setup_logging

from shared.errors import BridgeError
from shared.process.settings import Settings, load_settings
from shared.telemetry import reporting
from shared.telemetry.logs import configure_logging, get_logger, log_crashes, reason_fields


def begin(process: str) -> Settings | None:
    """Read the settings, and set up logging and reporting by them.

    Args:
        process: worker or beat.

    Returns:
        The settings; None if they are wrong, which was told.
    """
    try:
        settings = load_settings()
    except BridgeError as error:
        configure_logging(None, process=process)  # how to log is part of what could not be read
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
    """Logging is set up: Celery leaves it as it is where this signal has a listener."""
