"""The console: the API by which an administrator sets up and looks (CONTRACT "HTTP: console and API")."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from producer.admin.desk import Desk
from producer.console import journal, links, refusals, setup, templates, trials
from producer.console.guard import Guard
from producer.web.shield import ShieldedApp
from shared.errors import SettingsError
from shared.settings import Settings
from shared.store import Store
from shared.store.database import Database

POOL_SIZE = 10


def create_console(settings: Settings) -> FastAPI:
    """Build the console.

    Args:
        settings: the process's settings.

    Raises:
        SettingsError: no token is set, so nobody could come in.
    """
    if not settings.console_tokens:
        raise SettingsError(
            "DESKBRIDGE_CONSOLE_TOKENS is not set, so the console would be unusable: make a token with "
            "`deskbridge make-token`"
        )
    store = Store(Database(settings.database_url.get_secret_value(), pool_size=POOL_SIZE))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(store.database.close)

    app = ShieldedApp(
        title="deskbridge",
        description="Set up and watch what deskbridge forwards. Every request needs `Authorization: Bearer TOKEN`.",
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.state.desk = Desk(settings, store)
    for module in (links, journal, setup, templates, trials):
        app.include_router(module.router, responses=refusals.EVERYWHERE)
    refusals.register(app)
    app.add_api_route("/healthz", _healthz, include_in_schema=False)
    app.add_middleware(Guard, tokens=settings.console_tokens)
    return app


async def _healthz() -> dict[str, str]:
    """The process is up."""
    return {"status": "ok"}
