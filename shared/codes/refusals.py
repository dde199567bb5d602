"""Codes of refusals: why deskbridge itself does not do what a person asked for."""

from __future__ import annotations

from shared.codes.coded import Code


class Refusal(Code):
    """Why a command or a request of the API was refused."""
