"""`pytest -p tests.deployment.ha.pooled`: the tests reach their PostgreSQL only through pgbouncer."""

from __future__ import annotations

import os
from pathlib import Path

from deploy.embedded.postgres import PostgresServer
from tests.deployment.ha.postgres import Pooler

PROGRAM, LIBRARIES = "HA_PGBOUNCER", "HA_LIBRARIES"


class Pooled(PostgresServer):
    """A server whose database URLs lead through pgbouncer."""

    pooler: Pooler

    def _launch(self) -> None:
        super()._launch()
        self.pooler = Pooler(
            Path(os.environ[PROGRAM]),
            self.data_dir / f"pgbouncer-{self.child.pid}",
            self,
            Path(os.environ[LIBRARIES]),
        )
        self.pooler.start()

    def database_url(self, name: str) -> str:
        """Return a database's URL through pgbouncer."""
        return self.pooler.url(name)

    def stop(self, timeout: float = 10) -> None:
        """Stop both."""
        self.pooler.stop()
        super().stop(timeout)

    def kill(self) -> None:
        """Kill both."""
        self.pooler.stop()
        super().kill()


def pytest_sessionstart() -> None:
    """Make the fixtures use this server."""
    import tests.support.servers

    vars(tests.support.servers)["PostgresServer"] = Pooled
