"""The console: pages for people and the API for programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pkgutil import iter_modules

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware

from producer.admin.queries.kept_hours import KeptHours
from producer.admin.records.transaction import Store
from producer.admin.services import Services
from producer.console import pages, refusals
from producer.console.api import hours, journal, links, setup, templates, tickets, trials
from producer.console.auth.guard import Guard
from producer.console.auth.oidc import SingleSignOn
from producer.console.monitoring import Monitoring
from producer.console.pages import doctor, notifications, sign_in, single_sign_on
from producer.console.rendering.assets import Assets
from producer.console.rendering.languages import Languages
from producer.console.rendering.view import View
from producer.http.shield import ShieldedApp
from shared.process.settings import Settings
from shared.store.tables.database import Database

POOL_SIZE = 10
SMALLEST_COMPRESSED = 1000
COMPRESSION = 5
"""Of 9 levels: output a tenth larger than at level 9, in a third of the time."""

MODULES = [import_module(f"{pages.__name__}.{one.name}") for one in iter_modules(pages.__path__)]
PAGES = [module for module in MODULES if hasattr(module, "router")]
"""Every module that declares a router is a page; there is no other registration."""

ROUTERS = (
    *(module.router for module in (links, tickets, journal, hours, setup, templates, trials)),
    sign_in.open_router,
    single_sign_on.open_router,
    *(page.router for page in PAGES),
)
"""Their routes are added directly: FastAPI builds those of an included router again at the first request."""


def create_console(settings: Settings) -> FastAPI:
    """Build the console.

    Args:
        settings: the process's settings.
    """
    store = Store(Database(settings.database_url.get_secret_value(), pool_size=POOL_SIZE))

    services, assets, languages = Services(settings, store), Assets(), Languages()
    monitoring = Monitoring(services)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        examining = asyncio.create_task(doctor.examine_regularly(app.state.examinations))
        notifying = asyncio.create_task(notifications.notify_regularly(services))
        yield
        examining.cancel()
        notifying.cancel()
        monitoring.close()
        app.state.examinations.close()
        app.state.hours.close()
        await run_in_threadpool(store.database.close)

    app = ShieldedApp(
        title="deskbridge",
        description="Configure and monitor deskbridge. Every request needs `Authorization: Bearer TOKEN`.",
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.state.services, app.state.tries = services, sign_in.Tries()
    app.state.hours = KeptHours(services)
    app.state.examinations = doctor.examinations(services)
    app.state.sso = SingleSignOn(settings, services.vault)
    app.state.view = View(services, assets, languages)
    for router in (*ROUTERS, assets.router(), monitoring.router()):
        app.router.routes += router.routes
    refusals.register(app)
    app.add_api_route("/healthz", monitoring.livez, include_in_schema=False)
    app.add_middleware(Guard, tokens=settings.console_tokens, accounts=services.accounts, languages=languages)
    # compressed sizes leak nothing to other sites: their requests never carry the session cookie
    app.add_middleware(GZipMiddleware, minimum_size=SMALLEST_COMPRESSED, compresslevel=COMPRESSION)
    return app
