"""Base classes and the router of the API's routes."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from producer.console.auth.rights import allowed
from producer.http.problems import refusals
from shared.values.validation import Id

EVERYWHERE = refusals(400, 401, 403, 408, 409, 413, 415, 422, 429, 503)
"""Refusals that any route may return; routes declare further ones themselves."""


class RequestBody(BaseModel):
    """Base of request bodies. Unknown members are errors, and no error repeats the input."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Newest(BaseModel):
    """A page of a list that begins with the newest item."""

    model_config = ConfigDict(frozen=True)

    below: Id | None = Field(default=None, description="Only entries with a lower id.")
    limit: int = Field(default=100, ge=1, le=10_000)


def api_router(prefix: str, tag: str) -> APIRouter:
    """Return a router whose routes check the right of each request.

    Args:
        prefix: prefix of their paths.
        tag: group under which the reference lists them.
    """
    return APIRouter(prefix=prefix, tags=[tag], responses=EVERYWHERE, dependencies=[Depends(allowed)])
