"""An upgrade under load: the versions run side by side across the migration, and nothing is lost or done twice."""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.tracker.seed import DEFAULT_KEY
from tests.deployment.compose import (
    OURS,
    Engine,
    Helpdesk,
    issues_of,
    logged,
    restarts,
    surroundings,
    tracked,
    waiting,
)
from tests.deployment.conftest import IMAGE, ROOT, run
from tests.support.documents import documented
from tests.support.events import SUPPORT_ENTITY
from tests.support.next_version import NEXT, TODAY, add_revision
from tests.support.waiting import until

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(900)]

THE_NEXT = "deskbridge:next"
WORKERS = 2
MORE = 8
"""Number of further time entries that show that events are still forwarded."""

ENDED = re.compile(r"^deskbridge_events_ended_total\{.*\} (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the next version: the current ones with one more revision."""
    directory = tmp_path_factory.mktemp("next")
    archive = directory / "sources.tar"
    run({}, "/usr/bin/git", "archive", "--output", archive, "HEAD")
    with tarfile.open(archive) as packed:
        packed.extractall(directory / "tree", filter="data")
    made = directory / "tree"
    add_revision(made / "producer" / "admin" / "migrations")
    schema = made / "shared" / "store" / "tables" / "schema.py"
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace(f'HEAD = "{TODAY}"', f'HEAD = "{NEXT}"'), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def next_image(tree: Path, docker: dict[str, str], base: str, image: str) -> str:
    """The image of the next version, built after the current one: they share the layer of packages."""
    assert image == IMAGE
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(docker, *pip, "--wheel-dir", "dist", ".", cwd=tree)
    file = ("--file", tree / "deploy" / "container" / "Dockerfile")
    given = ("--network=host", "--build-arg", f"BASE={base}", "--build-arg", "VERSION=next")
    run(docker, "docker", "build", "-q", *given, *file, "--tag", THE_NEXT, tree)
    return THE_NEXT


@pytest.fixture
def stack(docker: dict[str, str], standin: str, image: str, tmp_path: Path) -> Iterator[Engine]:
    """A stack of the current image, with two workers."""
    given = surroundings(docker, standin, tmp_path)
    made = Engine({**given, "DESKBRIDGE_IMAGE": image}, "upgraded")
    run(made.environment, ROOT / "deploy" / "container" / "make-secrets", given["SECRETS"])
    try:
        made.compose("up", "-d", "--wait", "--pull", "never", "--scale", f"worker={WORKERS}")
        statuses = 'status_map={"1": 1, "2": 2}'
        made.deskbridge("config", "set", "base_url=http://tracker:3000", "default_activity_id=9", statuses)
        made.deskbridge("config", "set-api-key", given=DEFAULT_KEY)
        made.deskbridge("metadata", "sync")
        made.deskbridge("mapping", "add", "entity", str(SUPPORT_ENTITY), "1")
        yield made
    finally:
        made.compose("down", "-v", "--timeout", "5")


def revision(stack: Engine) -> str:
    asked = "SELECT version_num FROM alembic_version"
    return stack.compose("exec", "-T", "db", "psql", "-tA", "-U", "deskbridge", "-c", asked).strip()


def images(stack: Engine, service: str) -> list[str]:
    return sorted(one["Config"]["Image"] for one in stack.containers(service))


def ended(stack: Engine) -> dict[str, float]:
    """Return how many events each worker has ended, by image and container."""
    ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9101/metrics').read().decode())"
    return {
        f"{one['Config']['Image']} {one['Id'][:12]}": sum(
            float(value) for value in ENDED.findall(stack.docker("exec", one["Id"], "python3", "-c", ask))
        )
        for one in stack.containers("worker")
    }


def test_old_and_new_work_side_by_side_over_the_migration_and_nothing_is_lost_or_twice(
    stack: Engine, next_image: str
) -> None:
    issues = len(tracked(stack, "issues"))
    migrate, up = documented("how-to/install.md#upgrade").splitlines()
    assert revision(stack) == TODAY

    def goes_on() -> None:
        reached = logged(stack) + MORE
        until(lambda: logged(stack) >= reached, lambda: stack.compose("logs", "--tail", "20", "worker"), 180)

    helpdesk = Helpdesk(stack, 20_000)
    with helpdesk.at_work():
        goes_on()
        stack.environment["DESKBRIDGE_IMAGE"] = next_image
        stack.types(migrate)
        assert revision(stack) == NEXT
        assert {one for name in OURS for one in images(stack, name)} == {IMAGE}
        goes_on()
        old = ended(stack)
        stack.compose(
            "up", "-d", "--wait", "--no-deps", "--no-recreate", "--scale", f"worker={2 * WORKERS}", "worker"
        )
        assert images(stack, "worker") == sorted([IMAGE, next_image] * WORKERS)

        def all_work() -> bool:
            now = ended(stack)
            return len(now) == 2 * WORKERS and all(count > old.get(name, 0) for name, count in now.items())

        until(all_work, lambda: f"not all of them work: {old}, then {ended(stack)}", 180)
        assert not any(sum(counts) for counts in restarts(stack).values()), restarts(stack)
        stack.types(up.replace("--wait", f"--wait --pull never --scale worker={WORKERS}"))
        assert {one for name in OURS for one in images(stack, name)} == {next_image}
        goes_on()
    until(
        lambda: logged(stack) >= len(helpdesk.sent), lambda: f"{logged(stack)} of {len(helpdesk.sent)}", 180
    )
    until(lambda: waiting(stack) == [], lambda: str(waiting(stack)), 180)
    entries = tracked(stack, "time_entries")
    assert sorted(one["comments"] for one in entries) == sorted(
        f"Extinguished {one}" for one in helpdesk.sent
    )
    assert set(issues_of(entries).values()) == {1}, "each ticket has an issue of its own"
    assert len(tracked(stack, "issues")) == issues + len(helpdesk.sent)
    assert not any(sum(counts) for counts in restarts(stack).values()), restarts(stack)
