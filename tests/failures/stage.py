"""The stage: makes something fail, runs the commands that report it, and checks their output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.replay import replay_code, replay_state
from producer.admin.doctor.examination import examine
from producer.admin.doctor.finding import RECORDS, CheckResult, finding_json
from producer.admin.doctor.installation import Installation
from producer.admin.presenters.shapes import Event
from producer.admin.presenters.waiting import with_reasons
from producer.admin.queries.story import Trace, trace_ticket
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.notices.doctor_helpdesk import HelpdeskFinding
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import SetupFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.notice import Code
from shared.notices.render import article
from shared.store.tables.journal import EventState
from tests.failures.redmine import RealRedmine
from tests.support.bridge import Bridge
from tests.support.events import task, task_event

if TYPE_CHECKING:
    from tests.failures.front import Front
    from tests.integration.console.conftest import Console
    from tests.integration.console.pages import Visitor
    from tests.unit.cli.conftest import Shell

Report = Callable[[str, object], None]
WITHIN_S = 60
OF_MANY_CHECKS = {
    ServiceFinding.NOT_LOOKED_AT,
    ServiceFinding.NOT_REACHED_IN_TIME,
    SetupFinding.CONFIG_ID_UNKNOWN,
    HelpdeskFinding.HELPDESK_API_NOT_USED,
}
EITHER_OR = ("or the API key", "or its REST API", "closed, archived or deleted")
"""Words that do not name a single cause."""


@dataclass(frozen=True)
class Told:
    """A command's output: its codes, at any depth, and its sentences as a person reads them."""

    codes: set[str]
    text: str

    @classmethod
    def of(cls, document: Any) -> Told:
        """Collect the codes and sentences of a JSON document as `--json` prints it."""
        return cls(
            {code for one in _objects(document) if (code := one.get("code"))}, "\n".join(_texts(document))
        )


def _objects(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        yield document
    for one in _below(document):
        yield from _objects(one)


def _texts(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        found = (document.get(name) for name in ("what", "why", "todo", "reason"))
        yield from (one for one in found if one and isinstance(one, str))
    for one in _below(document):
        yield from _texts(one)


def _below(document: Any) -> list[Any]:
    if isinstance(document, dict):
        return [one for name, one in document.items() if name != "call"]
    return document if isinstance(document, list) else []


class Stage:
    """An installation of deskbridge and its tracker.

    Attributes:
        during: contexts and callbacks that end with the test.
        patched: patches that are undone with the test.
        front: the web server in front of the tracker.
        console: the running console.
        shell: the installation's command line.
        pages: the console's pages.
        directory: an empty directory.
        kept: values that a failure keeps for its repair.
    """

    during: ExitStack
    patched: pytest.MonkeyPatch
    front: Front
    console: Console
    shell: Shell
    pages: Visitor
    directory: Path

    def __init__(self, bridge: Bridge, tracker: StandIn | RealRedmine, report: Report) -> None:
        self.bridge, self.tracker, self._report = bridge, tracker, report
        self._asked, self._failed_at = 0, 0.0
        self.kept: dict[str, Any] = {}
        self.is_broker_answering = True
        self.tasks = 600

    def work(self, **of_task: Any) -> str:
        """Finish a ticket task as a technician; forward its event and return the event's state."""
        self.tasks += 1
        return self.bridge.forward(task_event(self.tasks, of_task=task(self.tasks, **of_task)))[0]

    def receive(self) -> int:
        """Finish a ticket task as a technician; leave its event to a worker and return the event's id."""
        self.tasks += 1
        return self.bridge.receive(task_event(self.tasks, of_task=task(self.tasks)))[0]

    @property
    def stand_in(self) -> StandIn:
        """The tracker, for tests that need the stand-in (mark `stand_in`)."""
        assert isinstance(self.tracker, StandIn)
        return self.tracker

    def fail(self, failure: Failure) -> None:
        """Stage a failure."""
        failure.stage(self)
        self._failed_at = time.monotonic()

    def named_by(self, failure: Failure, ask: Callable[[], Told]) -> Told:
        """Check that one command alone names the cause and the next step in time, and reports nothing untrue."""
        self._asked = 0
        told, seconds = ask(), time.monotonic() - self._failed_at
        assert failure.code in told.codes, told.text
        assert failure.step in told.text, told.text
        for word in (*failure.never, *EITHER_OR):
            assert word not in told.text, told.text
        assert self._asked == 1, "one command"
        assert seconds < WITHIN_S
        self._report("staged", (failure.sentence, ask.__name__, self._asked, round(seconds, 2)))
        return told

    def findings(self) -> list[CheckResult]:
        """Return the check results of `deskbridge doctor`."""
        self._asked += 1
        found = list(examine(self.installation()))
        for one in found:
            if one.found.code not in OF_MANY_CHECKS:
                assert article(one.found.code) == RECORDS[one.check], f"another record than {one.check} names"
        return found

    def installation(self) -> Installation:
        """Return the installation that the doctor checks."""
        bridge, vault = self.bridge, Vault(self.bridge.settings.secret_keys)
        connect = Connector(bridge.store, vault).connect
        return Installation(
            bridge.settings, bridge.store, bridge.redis, vault, connect, lambda: self.is_broker_answering
        )

    def doctor(self) -> Told:
        """Return the output of `deskbridge doctor`, without checks that are ok."""
        return Told.of([finding_json(one) for one in self.findings() if one.status != "ok"])

    def trace(self) -> Told:
        """Return the output of `deskbridge ticket history 4711`."""
        self._asked += 1
        return Told.of(Trace.of(trace_ticket(self.bridge.store, 4711, self.bridge.redis)).model_dump())

    def events(self) -> Told:
        """Return the output of `deskbridge event list`."""
        self._asked += 1
        with self.bridge.store.transaction() as tx:
            rows = tx.journal.find(limit=None)
        return Told.of(
            [Event.of(row, why).model_dump() for row, why in with_reasons(rows, self.bridge.redis)]
        )

    def offered(self) -> str | None:
        """Return the code of the replay that the doctor offers for a fixed cause, or None."""
        fixed = [one.found for one in self.findings() if one.found.code == WorkFinding.EVENTS_FIXED]
        return next((one.params["code"] for one in fixed), None)

    def replay(self, code: str | None = None) -> None:
        """Replay failed events, only those with a code if it is given, and sync the waiting ones."""
        store, failed = self.bridge.store, EventState.FAILED
        tickets = (replay_code(store, failed, code) if code else replay_state(store, failed)).tickets
        self.bridge.breaker.end()
        self.bridge.hurry()
        for ticket_id in tickets or [4711]:
            self.bridge.sync(ticket_id)

    def goes_on(self) -> bool:
        """Tell whether no event is failed, pending or on hold."""
        with self.bridge.store.transaction() as tx:
            return not any(
                tx.journal.count(state)
                for state in (EventState.FAILED, EventState.PENDING, EventState.ON_HOLD)
            )

    def api_key(self, text: str, *, foreign: bool = False) -> None:
        """Store an API key; a foreign one is encrypted with a secret key that no process has."""
        keys = [SecretStr(Fernet.generate_key().decode())] if foreign else self.bridge.settings.secret_keys
        with self.bridge.store.transaction() as tx:
            tx.configs.put_api_key(Vault(keys).encrypt(SecretStr(text)))

    def template(self, operation: str, body: str) -> None:
        """Activate a template without a check of its text."""
        with self.bridge.store.transaction() as tx:
            name = f"of the test, {operation} {hash(body)}"
            tx.templates.activate(tx.templates.create(operation, name, body, "a test"), 1, "a test")


Act = Callable[[Stage], object]


def nothing_to_do(_stage: Stage) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Failure:
    """A staged failure.

    Attributes:
        sentence: describes what fails.
        stage: makes it fail.
        code: code of the cause that must be named.
        step: words of the next step that must be named.
        never: words that must not appear.
        repair: carries out the named step.
        real: whether a real Redmine can be made to fail like this too.
    """

    sentence: str
    stage: Act
    code: Code
    step: str
    never: tuple[str, ...] = ()
    repair: Act = field(default=lambda _: None)
    real: bool = True

    def __str__(self) -> str:
        return self.sentence


def staged(failures: Sequence[Failure]) -> pytest.MarkDecorator:
    """Parametrize a test with failures; those that a real Redmine cannot show run on the stand-in only."""
    marks = {True: (), False: (pytest.mark.stand_in,)}
    params = [pytest.param(one, id=str(one), marks=marks[one.real]) for one in failures]
    return pytest.mark.parametrize("failure", params)


def patch(table: str, row_id: int, **values: Any) -> Act:
    """Change a row on the tracker."""
    return lambda stage: stage.tracker.patch(table, row_id, **values)


def remove(table: str, row_id: int) -> Act:
    """Delete a row on the tracker."""
    return lambda stage: stage.tracker.remove(table, row_id)


def settings(**values: Any) -> Act:
    """Change the tracker's settings."""
    return lambda stage: stage.tracker.settings(**values)


def configure(**values: Any) -> Act:
    """Change deskbridge's Redmine settings."""
    return lambda stage: stage.bridge.configure(**values)


def template(operation: str, body: str) -> Act:
    """Activate a template."""
    return lambda stage: stage.template(operation, body)


def key(text: str) -> Act:
    """Store an API key."""
    return lambda stage: stage.api_key(text)


def both(*acts: Act) -> Act:
    """Run several acts in order."""

    def act(stage: Stage) -> None:
        for one in acts:
            one(stage)

    return act


def own_key(stage: Stage) -> None:
    """Store the administrator's key."""
    stage.api_key(stage.tracker.api_key)
