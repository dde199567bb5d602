"""Dependencies that the console's routes share: services, the caller's name, ids."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from producer.admin.services import Services
from shared.values.ids import LARGEST


def _desk(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


def _who(request: Request) -> str:
    who: str = request.state.who
    return who


Who = Annotated[str, Depends(_who)]
"""The caller's name, as the audit log records it."""
WithServices = Annotated[Services, Depends(_desk)]
Id = Annotated[int, Path(ge=1, le=LARGEST)]
IdOrZero = Annotated[int, Path(ge=0, le=LARGEST)]
