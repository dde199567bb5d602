"""Fixtures that start or reach the tracker of the contract tests.

`--tracker=standin` (default) starts the stand-in on a free port; `--tracker=redmine` starts a
real Redmine with deploy/redmine/redmine-up unless it is up; `--tracker=http://[KEY@]HOST:PORT` uses a
running tracker with the same seed. `--redmine=6.0` gives the tracker's version.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.helpdesk.glpi import GlpiLookup
from shared.store.configuration.mappings import MappingKind
from shared.store.configuration.matching import TrackerPerson
from tests.contract import seed
from tests.contract.scene import ENTITY, Scene
from tests.contract.support import Json, Tracker, Version, accepted
from tests.support.bridge import Bridge
from tests.support.glpi_api import GlpiApi, glpi_api
from tests.support.redmine import real_redmine

VERSIONS = ["5.0", "6.0", "6.1"]
REDMINE = pytest.StashKey[Json]()
"""What redmine-up reports about the real Redmine."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the tests of rendered pages unless the tracker is a real Redmine."""
    is_page = collection_path.name == "test_rendered_text.py"
    return True if is_page and config.getoption("--tracker") != "redmine" else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize each test with the Redmine versions that it runs on."""
    chosen = metafunc.config.getoption("--redmine")
    releases = [chosen or VERSIONS[0]]
    if chosen is None and metafunc.config.getoption("--tracker") == "standin":
        with_deskbridge = "redis_url" in metafunc.fixturenames and not metafunc.definition.get_closest_marker(
            "every_version"
        )
        releases = VERSIONS[:1] if with_deskbridge else VERSIONS
    metafunc.parametrize("release", releases, scope="session")


@pytest.fixture(scope="session")
def tracker_server(request: pytest.FixtureRequest, release: str) -> Iterator[tuple[str, str]]:
    """Yield the base address and the administrator's key of the tracker named by --tracker."""
    choice: str = request.config.getoption("--tracker")
    if choice == "standin":
        with StandIn(arguments=["--redmine", release]) as stand_in:
            yield stand_in.base_url, stand_in.api_key
    elif choice == "redmine":
        with real_redmine(release) as ready:
            request.config.stash[REDMINE] = ready
            yield ready["base_url"], ready["api_key"]
    elif choice.startswith(("http://", "https://")):
        parts = urlsplit(choice)
        host = parts.netloc.rpartition("@")[2]
        yield f"{parts.scheme}://{host}{parts.path.rstrip('/')}", parts.username or seed.ADMIN_KEY
    else:
        raise pytest.UsageError(f"--tracker={choice}: standin, redmine or an http(s) address is wanted")


@pytest.fixture(scope="session")
def version(tracker: Tracker, release: str) -> Version:
    """Return the version of the tracker under test, after checking that it behaves like it."""
    told = "description" in tracker.read("/issue_statuses.json")["issue_statuses"][0]
    categories = tracker.call("GET", f"/projects/{seed.Project.CLOSED}/issue_categories.json").status_code
    major, minor = (int(part) for part in release.split("."))
    assert (told, categories == 200) == ((major, minor) >= (6, 0), (major, minor) >= (6, 1)), release
    return major, minor


@pytest.fixture(scope="session")
def tracker(tracker_server: tuple[str, str]) -> Iterator[Tracker]:
    """Yield the driver of the tracker under test."""
    driver = Tracker(*tracker_server)
    with driver.session:
        yield driver


@pytest.fixture(autouse=True)
def _clean(tracker: Tracker) -> Iterator[None]:
    """Delete the objects of each test, so that tests do not see each other's."""
    yield
    tracker.clean_up()


@pytest.fixture
def project(tracker: Tracker) -> Json:
    """Return a private project for this test, without members, with default modules and issue types."""
    made: Json = accepted(tracker.create_project())["project"]
    return made


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    """The API of a mock GLPI that has documents."""
    with glpi_api() as served:
        yield served


@pytest.fixture
def bridge(tracker: Tracker, redis_url: str, tmp_path: Path, api: GlpiApi) -> Iterator[Bridge]:
    """A deskbridge connected to the tracker under test, with its users cached and two stale ones added."""
    url, lookup = f"sqlite:///{tmp_path}/bridge.sqlite3", GlpiLookup(api.access)
    made = Bridge(url, redis_url, tracker.base_url, tracker.api_key, lookup=lookup)
    rows = tracker.read("/users.json?limit=100")["users"]
    people = [
        TrackerPerson(row["id"], row["login"], row["lastname"], row["mail"], row["admin"]) for row in rows
    ]
    # two users in the cache: one has since been locked, the other deleted
    people += [TrackerPerson(seed.User.DAVE, "dave", "Dunn", "dave@example.test")]
    people += [TrackerPerson(seed.UNKNOWN, "ghost", "Ghost", "ghost@example.test")]
    with made.store.transaction() as tx:
        tx.people.replace_cache(people)
    yield made
    made.close()


@pytest.fixture
def scene(bridge: Bridge, tracker: Tracker, project: Json) -> Scene:
    """A scene whose entity is mapped to the fresh project."""
    bridge.link(MappingKind.ENTITY, ENTITY, int(project["id"]))
    return Scene(bridge, tracker, project)
