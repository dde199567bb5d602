"""The helpdesk's API as the settings name it."""

from __future__ import annotations

from shared.helpdesk.lookup import HelpdeskLookup
from shared.process.outbound import Outbound
from shared.process.settings import Settings


def configured_lookup(settings: Settings) -> HelpdeskLookup | None:
    """Return what asks the helpdesk, None if the settings name none."""
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
