"""What the console's routes share: their collaborators, the shape of ids, answers as JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from starlette.responses import Response

from producer.admin.desk import Desk
from producer.admin.shapes import stamp
from shared.ids import LARGEST


def answer(data: Any, status: int = 200) -> Response:
    """Return data as JSON; times in UTC with Z."""
    content = json.dumps(data, default=stamp).encode()
    return Response(content, status, media_type="application/json", headers={"Cache-Control": "no-store"})


def _desk(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found


def _who(request: Request) -> str:
    who: str = request.state.who
    return who


Who = Annotated[str, Depends(_who)]
"""Who asks, as histories name them."""
AtDesk = Annotated[Desk, Depends(_desk)]
Id = Annotated[int, Path(ge=1, le=LARGEST)]
IdOrZero = Annotated[int, Path(ge=0, le=LARGEST)]
