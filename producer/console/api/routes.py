"""What the API's routes share."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from producer.console.auth.rights import allowed
from producer.http.problems import refusals

EVERYWHERE = refusals(400, 401, 403, 408, 409, 413, 415, 422, 429, 503)
"""Refusals that any route may answer; those of single routes are named there."""


def api_router(prefix: str, tag: str) -> APIRouter:
    """Return a router whose routes let in only who may use them.

    Args:
        prefix: what their paths begin with.
        tag: what they are listed under.
    """
    return APIRouter(prefix=prefix, tags=[tag], responses=EVERYWHERE, dependencies=[Depends(allowed)])
