"""PostgreSQL with a synchronous replica, and a server with pgbouncer in front of it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import psycopg2

from deploy.embedded.accounts import run_as, unprivileged_account
from deploy.embedded.child import Child
from deploy.embedded.pginstall import find_programs
from deploy.embedded.ports import HOST, free_port, is_free
from deploy.embedded.postgres import PostgresServer
from tests.support.waiting import until

USER = "postgres"
REPLICA = "replica"


class Replicated:
    """A primary that commits nothing without its replica.

    Args:
        directory: folder for data and logs; PostgreSQL's account must be able to enter it.
    """

    def __init__(self, directory: Path) -> None:
        self.primary = PostgresServer(directory / "primary", port=free_port(), fsync=False)
        self.replica = _Copy(directory / "replica", port=free_port(), fsync=False)

    def start(self) -> None:
        """Start both; return once the primary waits for the replica at each commit."""
        self.primary.start()
        self.replica.copy(self.primary)
        self.replica.start()
        execute(self.primary, f"ALTER SYSTEM SET synchronous_standby_names = '{REPLICA}'")
        execute(self.primary, "SELECT pg_reload_conf()")
        state = "SELECT sync_state FROM pg_stat_replication"
        until(lambda: execute(self.primary, state) == "sync", "the replica is not synchronous")

    def url(self, name: str) -> str:
        """Return a URL of a database that leads to the server that accepts writes."""
        hosts = "&".join(f"host={HOST}:{one.port}" for one in (self.primary, self.replica))
        return f"postgresql+psycopg2://{USER}@/{name}?{hosts}&target_session_attrs=read-write"

    def promote(self) -> None:
        """Make the replica the primary; return once it accepts writes."""
        assert execute(self.replica, "SELECT pg_promote(true, 60)")

    def stop(self) -> None:
        """Stop both and delete their data."""
        for server in (self.primary, self.replica):
            server.destroy()


class _Copy(PostgresServer):
    """A server that starts with a copy of another server's data and follows it."""

    def copy(self, primary: PostgresServer) -> None:
        """Copy another server's data, with the settings to follow it."""
        self.data_dir.mkdir(parents=True)
        cluster, account = self._place_cluster(), unprivileged_account()
        cluster.mkdir(mode=0o700)
        if account is not None:
            os.chown(cluster, account.user, account.group)
        followed = f"host={HOST} port={primary.port} user={USER} application_name={REPLICA}"
        copied = run_as(
            account,
            [find_programs(account) / "pg_basebackup", "-D", cluster, "-d", followed, "-R", "-X", "stream",
             "--checkpoint=fast", "--no-sync"],
        )  # fmt: skip
        assert copied.returncode == 0, copied.stdout

    def _answers(self, child: Child) -> bool:
        status = self._pgdata / "postmaster.pid"
        return (status.exists() and "standby" in status.read_text()) or super()._answers(child)


def execute(server: PostgresServer, statement: str) -> str:
    """Execute a statement directly on a server; return the first value of the result."""
    with closing(psycopg2.connect(host=HOST, port=server.port, user=USER, dbname="postgres")) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
            row = cursor.fetchone() if cursor.description else None
            return str(row[0]) if row else ""


class Pooler:
    """pgbouncer in transaction mode.

    Args:
        program: path of pgbouncer.
        directory: folder for its configuration and log.
        server: server whose databases it serves.
        libraries: folder of the libraries that it needs.
        size: number of connections that it keeps to each database.
    """

    def __init__(
        self, program: Path, directory: Path, server: PostgresServer, libraries: Path, size: int = 3
    ) -> None:
        directory.mkdir()
        directory.chmod(0o755)
        self.port = free_port()
        accounts = directory / "users.txt"
        accounts.write_text(f'"{USER}" ""\n')
        configuration = directory / "pgbouncer.ini"
        configuration.write_text(
            f"[databases]\n* = host={HOST} port={server.port}\n"
            f"[pgbouncer]\nlisten_addr = {HOST}\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {accounts}\npool_mode = transaction\n"
            f"default_pool_size = {size}\nmax_client_conn = 200\n"
        )
        self._child = Child(
            "pgbouncer",
            [program, configuration],
            log=directory / "pgbouncer.log",
            env={"LD_LIBRARY_PATH": str(libraries), "PATH": os.defpath},
            cwd=Path("/"),
            account=unprivileged_account(),
        )

    def start(self) -> None:
        """Start pgbouncer; return once it listens."""
        self._child.start()
        self._child.wait_ready(lambda: not is_free(self.port))

    def stop(self) -> None:
        """Kill pgbouncer."""
        self._child.kill()

    def url(self, name: str) -> str:
        """Return a database's URL through pgbouncer."""
        return f"postgresql+psycopg2://{USER}@{HOST}:{self.port}/{name}"
