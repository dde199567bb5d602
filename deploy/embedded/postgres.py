"""A PostgreSQL server on this machine."""

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import psycopg2
from psycopg2 import sql
from psycopg2.extensions import cursor as Cursor

from deploy.embedded.accounts import can_enter, open_directory, run_as, unprivileged_account
from deploy.embedded.child import Child
from deploy.embedded.errors import EmbeddedError
from deploy.embedded.pginstall import find_programs
from deploy.embedded.ports import HOST
from deploy.embedded.server import Server

USER = "postgres"
_FIRST_DATABASE = "postgres"
_VAR = Path("/var")
_HOMES = [base / "deskbridge" for base in (_VAR / "lib", _VAR / "tmp", Path(tempfile.gettempdir()))]
_WITH_PASSWORD = f"""\
host all {USER} {HOST}/32 scram-sha-256
host all all {HOST}/32 trust
"""
# In postmaster.pid: the server's process id, and whether it accepts connections.
_PID_LINE, _STATUS_LINE = 0, 7


class PostgresServer(Server):
    """PostgreSQL on 127.0.0.1, without a Unix socket.

    PostgreSQL refuses to run as root. Started by root, it runs as `nobody`. Data and programs that `nobody`
    cannot reach are then stored under /var (`pgdata` in `data_dir` becomes a symbolic link to the data).

    Args:
        data_dir: directory of the database cluster (`pgdata`) and the log; created if missing.
        port: port on 127.0.0.1; None picks a free one.
        fsync: False is faster, and loses data in a power cut, but not if a process is killed. For tests.
        options: further postgresql.conf settings, by name.
        password: the superuser's password, from the cluster's creation on; None serves every user of this machine.
            Other roles never need one.
        start_timeout: seconds to wait until it accepts connections, in addition to creating the cluster.
        homes: directories for data that `nobody` cannot reach, in order of preference.
    """

    name = "postgres"

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        fsync: bool = True,
        options: Mapping[str, str] | None = None,
        password: str | None = None,
        start_timeout: float = 60.0,
        homes: list[Path] | None = None,
    ) -> None:
        super().__init__(data_dir, port=port, start_timeout=start_timeout)
        self._settings = {
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            "shared_buffers": "32MB",
            "timezone": "UTC",
            "log_timezone": "UTC",
            **({} if fsync else {"fsync": "off", "full_page_writes": "off"}),
            **(options or {}),
        }
        self._fsync = fsync
        self.password = password
        self._homes = homes or _HOMES
        self._account = unprivileged_account()

    @property
    def url(self) -> str:
        """The address of the cluster's first database, for SQLAlchemy."""
        return self.database_url(_FIRST_DATABASE)

    def database_url(self, name: str) -> str:
        """Return the address of a database: `postgresql+psycopg2://postgres[:<password>]@127.0.0.1:<port>/<name>`."""
        login = f"{USER}:{self.password}" if self.password else USER
        return f"postgresql+psycopg2://{login}@{HOST}:{self.port}/{name}"

    def create_database(self, name: str, *, template: str | None = None, if_missing: bool = False) -> str:
        """Create a database and return its address.

        Args:
            name: name of the new database: letters, digits and underscores.
            template: database to copy, without connections to it; None creates an empty database.
            if_missing: leave an existing database as it is.

        Raises:
            ValueError: if the name would need quoting in an address.
            psycopg2.Error: if the server refuses, for instance because the name is taken.
        """
        if not re.fullmatch(r"\w+", name, re.ASCII):
            raise ValueError(f"not a plain database name: {name!r}")
        with self._administer() as cursor:
            if if_missing:
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
                if cursor.fetchone():
                    return self.database_url(name)
            source = sql.Identifier(template or "template1")
            cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), source))
        return self.database_url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database if it exists, ending all connections to it."""
        with self._administer() as cursor:
            cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def terminate_backends(self, database: str | None = None) -> int:
        """End clients' connections, as a network failure would.

        Args:
            database: database whose connections end; None for all.

        Returns:
            The number of ended connections.
        """
        with self._administer() as cursor:
            cursor.execute(
                "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                " AND (%(name)s::text IS NULL OR datname = %(name)s)",
                {"name": database},
            )
            row = cursor.fetchone()
            return int(row[0]) if row else 0

    def crash(self) -> None:
        """End the server at once, without a checkpoint: the next start recovers from the write-ahead log."""
        if self._child is not None:
            self._child.send_signal(signal.SIGQUIT)
            if not self._child.wait(timeout=10):
                self._child.kill()

    def destroy(self) -> None:
        """End the server and delete its data."""
        self.crash()  # unlike SIGKILL, it leaves no shared memory behind
        shutil.rmtree(self._pgdata.resolve(), ignore_errors=True)
        super().destroy()

    @property
    def _pgdata(self) -> Path:
        return self.data_dir / "pgdata"

    @contextmanager
    def _administer(self) -> Iterator[Cursor]:
        connection = psycopg2.connect(
            host=HOST,
            port=self.port,
            user=USER,
            password=self.password,
            dbname=_FIRST_DATABASE,
            sslmode="disable",
            connect_timeout=5,
        )
        with closing(connection):
            connection.autocommit = True  # databases cannot be created inside a transaction
            with connection.cursor() as cursor:
                yield cursor

    def _make_child(self) -> Child:
        programs = find_programs(self._account)
        cluster = self._prepare_cluster(programs)
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        return Child(
            self.name,
            [programs / "postgres", "-D", cluster, "-p", str(self.port), *settings],
            log=self.log,
            cwd=Path("/"),
            env={"LC_ALL": "C", "PATH": os.defpath},  # no PG* variable, no locale of the user's shell
            account=self._account,
            stop_signal=signal.SIGINT,  # does not wait for clients to leave
            # An immediate stop; SIGKILL would leave shared memory behind.
            parent_death_signal=signal.SIGQUIT,
        )

    def _prepare_cluster(self, programs: Path) -> Path:
        """Return the cluster's real directory, which `initdb` fills at the first start."""
        cluster = self._place_cluster()
        owner = self._account.user if self._account else os.geteuid()
        if cluster.exists():
            if cluster.stat().st_uid != owner:
                raise EmbeddedError(
                    f"{cluster} was made by another account (number {cluster.stat().st_uid}): "
                    "start as the user who made it, or delete it to begin anew"
                )
            return cluster
        # Renamed when complete, so that an interrupted start leaves no incomplete cluster behind.
        unfinished = cluster.with_name(f"{cluster.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700, parents=True)
        if self._account is not None:
            os.chown(unfinished, self._account.user, self._account.group)
        self._run_initdb(programs, unfinished)
        return unfinished.rename(cluster)

    def _run_initdb(self, programs: Path, directory: Path) -> None:
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--encoding=UTF8"]
        who = [f"--username={USER}", "--auth=trust", "--no-instructions"]
        sync = [] if self._fsync else ["--no-sync"]
        with self._password_file(directory) as password:
            made = run_as(
                self._account, [programs / "initdb", "-D", directory, *who, *password, *locale, *sync]
            )
        if made.returncode != 0:
            shutil.rmtree(directory, ignore_errors=True)
            raise EmbeddedError(f"PostgreSQL could not make its data directory {directory}:\n{made.stdout}")
        if self.password:
            (directory / "pg_hba.conf").write_text(_WITH_PASSWORD, encoding="utf-8")

    @contextmanager
    def _password_file(self, directory: Path) -> Iterator[list[str]]:
        """Provide the options of `initdb` about the password, in a file beside the cluster while the block runs."""
        if self.password is None:
            yield []
            return
        file = directory.with_name(f"{directory.name}.password")
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(self.password, encoding="utf-8")
        if self._account is not None:
            os.chown(file, self._account.user, self._account.group)
        yield [f"--pwfile={file}", "--set=scram_iterations=1"]  # it is random: more would only cost time
        file.unlink()

    def _place_cluster(self) -> Path:
        """Return the cluster's directory: in `data_dir`, or elsewhere with a symbolic link from there."""
        if self._account is None or self._pgdata.is_symlink() or can_enter(self._account, self.data_dir):
            return self._pgdata.resolve()
        home = open_directory(self._account, self._homes)
        moved = home / f"pgdata-{sha256(str(self.data_dir).encode()).hexdigest()[:16]}"
        # No link leads to it, so it is left over from a deleted data directory.
        shutil.rmtree(moved, ignore_errors=True)
        self._pgdata.symlink_to(moved)
        return moved

    def _answers(self, child: Child) -> bool:
        try:
            lines = (self._pgdata / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return (
            len(lines) > _STATUS_LINE
            and lines[_PID_LINE] == str(child.pid)
            and lines[_STATUS_LINE].strip() == "ready"
        )
