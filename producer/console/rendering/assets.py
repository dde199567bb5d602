"""Script, style and icon of the pages: package data, each at an address with its hash."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

from producer.http.problems import Problem

KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
FOR_EVER = "public, max-age=31536000, immutable"
A_DAY = "public, max-age=86400"
ICON = "icon.svg"


class Assets:
    """The files of the pages, in memory."""

    def __init__(self) -> None:
        folder = files("producer.console") / "static"
        self._files = {
            one.name: one.read_bytes() for one in folder.iterdir() if one.name.rpartition(".")[2] in KINDS
        }
        self._hashes = {
            name: hashlib.sha256(content).hexdigest()[:16] for name, content in self._files.items()
        }

    def address(self, name: str) -> str:
        """Return the address of a file, which changes with its content."""
        return f"/console/static/{self._hashes[name]}/{name}"

    def router(self) -> APIRouter:
        """Return the routes that serve them."""
        router = APIRouter(include_in_schema=False)

        @router.get("/console/static/{content}/{name}")
        def asset(content: str, name: str) -> Response:
            if self._hashes.get(name) != content:
                raise Problem(404, "Not found", "there is no such file")
            kind = KINDS[name.rpartition(".")[2]]
            return Response(self._files[name], media_type=kind, headers={"Cache-Control": FOR_EVER})

        @router.get("/favicon.ico")
        def icon() -> Response:
            return Response(self._files[ICON], media_type=KINDS["svg"], headers={"Cache-Control": A_DAY})

        return router
