"""Is every part ready? And the knowledge records that say more."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from producer.admin.doctor.examination import examine
from producer.admin.doctor.finding import Status
from producer.admin.doctor.installation import Installation
from producer.admin.knowledge.shipped import shipped
from producer.console.drawing.fixing import fix
from producer.console.drawing.markdown import as_html
from producer.console.entry.answers import AtDesk
from producer.console.pages.parts import page_router, show

router = page_router()


@router.get("/doctor")
def doctor(request: Request, desk: AtDesk) -> Response:
    """Examine every part; asks the tracker, so it may take some seconds."""
    found = list(examine(Installation.of(desk)))
    wrong = {status: [one for one in found if one.status is status] for status in Status}
    return show(request, "doctor", wrong=wrong, Status=Status, fix=fix)


@router.get("/knowledge/{record_id}")
def knowledge(request: Request, record_id: str) -> Response:
    """Show a knowledge record."""
    record = shipped(record_id)
    return show(request, "knowledge", record=record, body=as_html(record.body))
