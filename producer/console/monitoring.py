"""The console's endpoints for monitors, without a token: /livez, /readyz and /metrics. They show counts, no names."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import JSONResponse

from producer.admin.services import Services
from producer.console.auth.guard import MONITORED
from producer.http.problems import Problem
from producer.http.readiness import CachedProbe, told
from shared.diagnosis import redis_health
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.notices.system_refusals import SystemRefusal
from shared.telemetry import metrics

WITHIN_S = 5.0


class Monitoring:
    """Answers monitors; however many ask, each check runs in one thread, at most once a second.

    Args:
        services: the console's collaborators.
    """

    def __init__(self, services: Services) -> None:
        shown = metrics.registry(
            "console",
            StateMetricsCollector(
                services.redis, services.store, quiet_s=services.settings.quiet_hours * 3600
            ),
        )
        self._needed = CachedProbe(
            {
                "database": lambda: services.store.database.takes_writes(),
                "redis": lambda: redis_health.takes_writes(services.redis),
            }
        )
        self._metrics = CachedProbe({"text": lambda: generate_latest(shown)})

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(include_in_schema=False)
        for path, answer in zip(MONITORED, (self.livez, self.readyz, self.metrics), strict=True):
            router.add_api_route(path, answer)
        return router

    def close(self) -> None:
        """Shut the threads down."""
        self._needed.close()
        self._metrics.close()

    async def livez(self) -> dict[str, str]:
        """Report that the process is running."""
        return {"status": "ok"}

    async def readyz(self) -> JSONResponse:
        """Report whether events can be committed; Redis is not required."""
        seen = await self._needed.look()
        return JSONResponse(told(seen), 200 if seen["database"] else 503)

    async def metrics(self) -> Response:
        """Return the metrics in Prometheus's text format.

        Raises:
            Problem: 503 if the database is slow.
        """
        try:
            async with asyncio.timeout(WITHIN_S):
                found = await self._metrics.look()
        except TimeoutError:
            why = SystemRefusal.DATABASE_DOWN()
            raise Problem(503, "Not known now", "the database is slow; ask again", why=why) from None
        return Response(found["text"], media_type=CONTENT_TYPE_LATEST)
