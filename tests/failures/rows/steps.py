"""Rows about failures that had true words, and no step that heals them."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlsplit

from producer.intake.refused import Refused
from shared.notices.deliveries import Undelivered
from shared.redis.heartbeat import KEY, WORKER, Heartbeats
from shared.redis.keys import key_of
from shared.store.tables.journal import EventState
from tests.failures import front
from tests.failures.front import Given, Rule, passes
from tests.failures.rows.connections import in_front, passes_on
from tests.failures.rows.environment import (
    DELAY,
    NOT_IN,
    OTHER,
    nothing_comes,
    others_gone,
    others_there,
    refused,
    waits,
)
from tests.failures.rows.row import Row
from tests.failures.stage import Act, Stage, both, patch
from tests.support.bridge import DEVELOPER

HOP_BY_HOP = front.NOT_PASSED_ON
CLOSED = "The accounting period of this day is closed"


def on_another_database(stage: Stage) -> None:
    """Start the only worker with the DESKBRIDGE_DATABASE_URL of another installation."""
    others_there(stage)
    stage.bridge.redis.delete(key_of(stage.bridge.redis, KEY + WORKER))


def on_this_database(stage: Stage) -> None:
    """Restart it with the DESKBRIDGE_DATABASE_URL of the other processes."""
    others_gone(stage)
    Heartbeats(stage.bridge.redis).mark(WORKER)


def wrong_last_part(stage: Stage) -> None:
    """Enter /webhooks/glpi/tickets as the URL of a webhook in GLPI."""
    kept = Refused()
    kept.note("10.0.0.7", Undelivered.PATH_UNKNOWN(path="/webhooks/glpi/tickets"))
    refused(kept.told())(stage)


def refuses(path: str, message: str) -> Callable[[str], Rule]:
    """Return the rule of a Redmine whose plug-in refuses creations with a message of its own."""
    content = json.dumps({"errors": [message]}).encode()

    def answer(method: str, called: str) -> Given | None:
        is_meant = method == "POST" and called.startswith(path)
        return (422, {"Content-Type": "application/json"}, content) if is_meant else None

    return lambda _: answer


def strips(*headers: str) -> Act:
    """Make a proxy remove headers of requests."""
    return lambda stage: stage.patched.setattr(front, "NOT_PASSED_ON", (*HOP_BY_HOP, *headers))


def redis_at(stage: Stage, url: str) -> None:
    """Restart every process with this DESKBRIDGE_REDIS_URL."""
    stage.patched.setenv("DESKBRIDGE_REDIS_URL", url)
    for redis in (stage.bridge.redis, stage.console.app.state.services.redis):
        redis.connection_pool.connection_kwargs["port"] = urlsplit(url).port
        redis.connection_pool.reset()


def wrong_port(stage: Stage) -> None:
    """Write the port of a web server into DESKBRIDGE_REDIS_URL."""
    stage.during.callback(right_port, stage)
    redis_at(stage, stage.tracker.base_url.replace("http://", "redis://"))


def right_port(stage: Stage) -> None:
    """Write the port of Redis."""
    redis_at(stage, stage.bridge.settings.redis_url.get_secret_value())


STEPS = [
    Row(
        10,
        "the worker uses another installation's database",
        on_another_database,
        EventState.PENDING,
        doctor="no worker uses this database",
        step="set its DESKBRIDGE_DATABASE_URL as in the other processes, and restart it",
        heal=on_this_database,
        everywhere=f"uses another one (installation {OTHER})",
        arrives=waits,
        never=("o worker is running", "tart a worker", "its own Redis"),
        told_before=True,
    ),
    Row(
        12,
        "DESKBRIDGE_REDIS_URL has the port of another server",
        wrong_port,
        EventState.PENDING,
        doctor="gave no answer in Redis' protocol (at 127.0.0.1:",
        step="correct host and port in DESKBRIDGE_REDIS_URL",
        heal=right_port,
        everywhere="gave no answer in Redis' protocol",
        arrives=waits,
        unreachable=("redis",),
        never=("o worker is running", "InvalidResponse", "ConnectionError"),
        told_before=True,
    ),
    Row(
        30,
        "a webhook's address has a wrong last part",
        wrong_last_part,
        None,
        doctor="there is nothing at /webhooks/glpi/tickets",
        step="correct the URL in GLPI: /events for the plugin; /webhooks/glpi/ticket, ",
        heal=refused([]),
        everywhere=NOT_IN,
        overview="there is nothing at /webhooks/glpi/tickets",
        arrives=nothing_comes,
        told_before=True,
    ),
    Row(
        15,
        "the workflow requires a due date",
        patch("roles", DEVELOPER, required=["due_date"]),
        EventState.FAILED,
        doctor="1 event failed: Redmine rejected the call: POST /issues.json",
        step="Redmine's message names the cause (required fields: Administration, Workflow, Fields permissions",
        heal=patch("roles", DEVELOPER, required=[]),
        everywhere="Due date cannot be blank",
        overview="Due date cannot be blank",
    ),
    Row(
        21,
        "the accounting period is closed",
        in_front(refuses("/time_entries.json", CLOSED)),
        EventState.FAILED,
        doctor="1 event failed: Redmine rejected the call: POST /time_entries.json",
        step="Redmine's message names the cause (required fields and limits: Administration, Settings, Time tracking",
        heal=passes_on,
        everywhere=CLOSED,
    ),
    Row(
        23,
        "a proxy strips X-Redmine-Switch-User",
        both(in_front(lambda _: passes), strips("x-redmine-switch-user")),
        EventState.DONE,
        doctor="Redmine ignores X-Redmine-Switch-User",
        step="check header_prefix (`deskbridge config show`) and the proxies on the way",
        heal=strips(),
        events=DELAY,
        history="Redmine did not act as alice, although the request named this user",
        ticket="under another user",
        overview="wrong author",
        left="wrong author",
    ),
]
"""Numbered as the failures that this table extends."""
