"""The client of the help desk's API, from the environment settings."""

from __future__ import annotations

from shared.helpdesk.lookup import HelpdeskLookup
from shared.process.outbound import Outbound
from shared.process.settings import Settings


def configured_lookup(settings: Settings) -> HelpdeskLookup | None:
    """Return the client of the help desk's API, or None if the settings name no API."""
    if settings.glpi_api_url is None:
        return None
    from shared.helpdesk.glpi import GlpiAccess, GlpiLookup

    assert settings.glpi_api_client_secret is not None  # noqa: S101 (the settings are validated)
    assert settings.glpi_api_password is not None  # noqa: S101
    return GlpiLookup(
        GlpiAccess(
            settings.glpi_api_url,
            settings.glpi_api_client_id or "",
            settings.glpi_api_client_secret,
            settings.glpi_api_user or "",
            settings.glpi_api_password,
            outbound=Outbound.of(settings),
        )
    )
