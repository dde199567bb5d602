"""What the console's routes share: their collaborators, the shape of ids."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from producer.admin.desk import Desk
from shared.values.ids import LARGEST


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
