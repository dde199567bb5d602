"""What the API's routes share."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from producer.console.auth.rights import allowed
from producer.http.problems import refusals
from shared.values.validation import Id

EVERYWHERE = refusals(400, 401, 403, 408, 409, 413, 415, 422, 429, 503)
"""Refusals that any route may answer; those of single routes are named there."""


class RequestBody(BaseModel):
    """Base of what a request brings. A member that is not described is an error; no error repeats what was sent."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Newest(BaseModel):
    """Which page of a list that begins with the newest."""

    model_config = ConfigDict(frozen=True)

    below: Id | None = Field(default=None, description="Only those with a lower id.")
    limit: int = Field(default=100, ge=1, le=10_000)


def api_router(prefix: str, tag: str) -> APIRouter:
    """Return a router whose routes let in only who may use them.

    Args:
        prefix: what their paths begin with.
        tag: what they are listed under.
    """
    return APIRouter(prefix=prefix, tags=[tag], responses=EVERYWHERE, dependencies=[Depends(allowed)])
