"""Why GLPI's OAuth server gives no token."""

from __future__ import annotations

from typing import Any

from shared.notices.faults import HelpdeskFault
from shared.notices.notice import Notice

LONGEST_ERROR = 100
SETTINGS = {
    "invalid_client": ["DESKBRIDGE_GLPI_API_CLIENT_ID", "DESKBRIDGE_GLPI_API_CLIENT_SECRET"],
    "invalid_grant": ["DESKBRIDGE_GLPI_API_USER", "DESKBRIDGE_GLPI_API_PASSWORD"],
}
"""The settings that GLPI does not accept, by its error."""


def sign_in_refused(status: int, answer: Any) -> Notice:
    """Return which settings GLPI does not accept, from its answer to POST /token."""
    error = str(answer.get("error") or "")[:LONGEST_ERROR] if isinstance(answer, dict) else ""
    about = {"error": error or None, "settings": SETTINGS.get(error)}
    return HelpdeskFault.HELPDESK_SIGN_IN_REFUSED(method="POST", path="/token", status=status, **about)
