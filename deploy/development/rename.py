"""Renames today's private words to the field's: `python -m deploy.development.rename` in a clean tree.

Made for one use, and deleted after it. It moves the modules of MOVES, replaces whole identifiers (IDENTIFIERS
everywhere, SCOPED in some files), names of modules in texts, and PHRASES in comments, docstrings and log lines.
"""

from __future__ import annotations

import fnmatch
import io
import re
import subprocess
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SELF = "deploy/development/rename.py"

MOVES = {
    "worker/bootstrap.py": "worker/app.py",
    "worker/monitor.py": "worker/health.py",
    "worker/tasks.py": "worker/celery_tasks.py",
    "worker/upkeep.py": "worker/maintenance.py",
    "worker/handing.py": "worker/message_handler.py",
    "worker/sync/__init__.py": "worker/ticket/__init__.py",
    "worker/sync/actions.py": "worker/ticket/steps.py",
    "worker/sync/coordinator.py": "worker/runtime/scheduler.py",
    "worker/sync/exchanges.py": "worker/runtime/exchanges.py",
    "worker/sync/context.py": "worker/ticket/log_context.py",
    "worker/sync/service.py": "worker/runtime/service.py",
    "worker/sync/limiter.py": "worker/runtime/quota.py",
    "worker/sync/gradient.py": "worker/runtime/gradient.py",
    "worker/sync/forward.py": "worker/ticket/sync.py",
    "worker/sync/drain.py": "worker/ticket/context.py",
    "worker/sync/calls.py": "worker/ticket/tracker.py",
    "worker/sync/work.py": "worker/ticket/load.py",
    "worker/sync/kept.py": "worker/ticket/settings_cache.py",
    "worker/sync/gates.py": "worker/ticket/plan.py",
    "worker/sync/wanted.py": "worker/ticket/requests.py",
    "worker/sync/creation.py": "worker/ticket/create.py",
    "worker/sync/attribution.py": "worker/ticket/impersonation.py",
    "worker/sync/probes.py": "worker/ticket/gone.py",
    "worker/sync/endings.py": "worker/ticket/finish.py",
    "worker/sync/completion.py": "worker/ticket/enrichment.py",
    "worker/sync/refusals.py": "worker/ticket/diagnosis.py",
    "worker/sync/reading.py": "worker/ticket/fresh_metadata.py",
    "worker/sync/transitions.py": "worker/ticket/status_transitions.py",
    "worker/sync/doubt.py": "worker/ticket/resolve.py",
    "worker/sync/reconcile.py": "worker/ticket/reconcile.py",
    "worker/sync/lookup.py": "worker/ticket/search.py",
    "worker/sync/matching.py": "worker/ticket/match.py",
    "worker/sync/recall.py": "worker/ticket/recall.py",
    "worker/sync/recovery.py": "worker/ticket/restore.py",
    "shared/coordination/doorbell.py": "shared/queue/publisher.py",
    "shared/coordination/messages.py": "shared/queue/envelope.py",
    "shared/coordination/rings.py": "shared/queue/messages.py",
    "shared/coordination/__init__.py": "shared/redis/__init__.py",
    "shared/coordination/pause.py": "shared/redis/circuit_breaker.py",
    "shared/coordination/presence.py": "shared/redis/heartbeat.py",
    "shared/coordination/throttle.py": "shared/redis/rate_limit.py",
    "shared/coordination/ahead.py": "shared/redis/priority.py",
    "shared/coordination/call_limit.py": "shared/redis/concurrency_limit.py",
    "shared/store/bearing.py": "shared/store/related_rows.py",
    "shared/store/verdicts.py": "shared/store/decisions.py",
    "shared/codes/coded.py": "shared/codes/notice.py",
    "producer/hooks/ringer.py": "producer/hooks/notifier.py",
    "tests/support/coordination.py": "tests/support/redis.py",
    "tests/support/call_limit.py": "tests/support/concurrency_limit.py",
    "tests/support/ways.py": "tests/support/workflows.py",
    "tests/unit/test_actions.py": "tests/unit/test_steps.py",
    "tests/unit/test_ahead.py": "tests/unit/test_priority.py",
    "tests/unit/test_call_limit.py": "tests/unit/test_concurrency_limit.py",
    "tests/unit/test_coordinator.py": "tests/unit/test_scheduler.py",
    "tests/unit/test_gates.py": "tests/unit/test_plan.py",
    "tests/unit/test_handing.py": "tests/unit/test_message_handler.py",
    "tests/unit/test_pause.py": "tests/unit/test_circuit_breaker.py",
    "tests/unit/test_rings.py": "tests/unit/test_queue_messages.py",
    "tests/integration/test_signs_of_life.py": "tests/integration/test_heartbeats.py",
    "tests/integration/test_throttle.py": "tests/integration/test_rate_limit.py",
    "tests/integration/test_upkeep.py": "tests/integration/test_maintenance.py",
    "tests/integration/test_verdicts_meanwhile.py": "tests/integration/test_decisions_meanwhile.py",
}
"""Module to module; what is not named here moves with its package."""

PACKAGES = {"worker/sync": "worker/ticket", "shared/coordination": "shared/redis"}

NEW_PACKAGES = {
    "worker/runtime/__init__.py": '"""What drives the workflows of many tickets at once."""\n',
    "shared/queue/__init__.py": '"""Celery: its application, what is published to it, and what is taken from it."""\n',
}

IDENTIFIERS = {
    "Coded": "Notice",
    "coded": "notice",
    "_coded": "_notice",
    "CODED": "NOTICE",
    "coded_json": "notice_json",
    "status_coded": "status_notice",
    "ring": "notify",
    "_ring": "_notify",
    "rings": "messages",
    "rung": "notified",
    "_rung": "_notified",
    "rung_by": "notified_by",
    "_rung_by": "_notified_by",
    "is_rung": "is_notified",
    "ring_of": "message_of",
    "Ring": "QueueMessage",
    "RING": "MESSAGE",
    "MOST_RUNG_TOGETHER": "MOST_TICKETS",
    "LARGEST_RING": "LARGEST_MESSAGE",
    "MOST_RUNG": "MOST_NOTIFIED",
    "JUST_RUNG_S": "JUST_NOTIFIED_S",
    "ring_due": "notify_due",
    "ring_if_due": "notify_if_due",
    "_ring_in": "_message_in",
    "_is_of_the_ring": "_is_of_the_message",
    "_append_and_ring": "_append_and_notify",
    "_try_to_ring": "_try_to_notify",
    "wait_until_rung": "wait_until_notified",
    "_wait_until_rung": "_wait_until_notified",
    "Ringer": "Notifier",
    "ringer": "notifier",
    "_ringer": "_notifier",
    "ringer_module": "notifier_module",
    "Doorbell": "Publisher",
    "doorbell": "publisher",
    "_doorbell": "_publisher",
    "Presence": "Heartbeats",
    "presence": "heartbeats",
    "_presence": "_heartbeats",
    "PRESENCE": "HEARTBEATS",
    "bearing": "related_rows",
    "_bearing": "_related_rows",
    "Bearing": "RelatedRows",
    "verdicts": "decisions",
    "Verdicts": "Decisions",
    "keep_up": "do_maintenance",
    "_keep_up_without_beat": "_maintain_without_beat",
    "Coordinator": "Scheduler",
    "coordinator": "scheduler",
    "_coordinator": "_scheduler",
    "Pause": "CircuitBreaker",
    "pause": "breaker",
    "_pause": "_breaker",
    "Throttle": "RateLimiter",
    "throttle": "rate_limiter",
    "_throttle": "_rate_limiter",
    "Limiter": "Quota",
    "limiter": "quota",
    "_limiter": "_quota",
    "CallLimit": "ConcurrencyLimit",
    "Ahead": "PriorityTickets",
    "way_up_to": "workflow_up_to",
    "way_until": "workflow_until",
    "wait_until_drained": "wait_until_synced",
    "DRAINED_WITHIN_S": "SYNCED_WITHIN_S",
    "DRAINED": "SYNCED",
    "DRAINS": "PASSES",
    "drained_within": "synced_within",
    "drain_seconds": "sync_seconds",
    "another_worker_drains": "another_worker_syncs",
    "drains": "syncs",
    "drained": "synced",
    "draining": "syncing",
    "drain_together": "sync_together",
    "begin_drain": "begin_sync",
    "_drained": "_synced",
    "_drain": "_sync",
    "drain": "sync",
    "CAN_WAIT_S": "LINGER_S",
    "_can_wait": "_lingering",
    "_can_wait_since": "_lingering_since",
    "_can_wait_still": "_linger_left",
    "Going": "RunningTicket",
    "Endings": "EventFinisher",
    "Kept": "SettingsCache",
}

SCOPED: dict[str, dict[str, str]] = {
    "worker/upkeep.py": {"upkeep": "maintenance"},
    "worker/tasks.py": {"upkeep": "maintenance", "ring": "message"},
    "worker/process.py": {"upkeep": "maintenance"},
    "worker/handing.py": {"ring": "named"},
    "worker/sync/*.py": {"rung": "to_notify", ".rung": "to_notify"},
    "shared/store/verdicts.py": {"rung": "to_notify", "_rung": "_to_notify", ".rung": "to_notify"},
    "shared/coordination/rings.py": {"ring": "message"},
    "tests/unit/test_rings.py": {"ring": "message"},
}

PHRASES: list[tuple[str, str]] = [
    (r"\bpresence\b", "heartbeat"),
    (r"\bsigns? of life\b", "heartbeat"),
    (r"\b([Dd])oorbell\b", r"publisher"),
    (r"\bringer\b", "notifier"),
    (r"\bRinger\b", "Notifier"),
    (r"\bis rung\b", "is notified"),
    (r"\bare rung\b", "are notified"),
    (r"\b(was|were|be|been) rung\b", r"\1 notified"),
    (r"\b[Ww]hoever rang\b", "who notified"),
    (r"\brung\b", "notified"),
    (r"\bRings\b(?= [a-z])", "Notifies"),
    (r"\brings (every|the|a|it|them|what|again|later|tickets|whatever|some|those)\b", r"notifies \1"),
    (r"\bring (every|the|a|it|them|what|again|later|tickets|whatever|some|those)\b", r"notify \1"),
    (r"\bRing (every|the|a|it|them|what|again|later|tickets|whatever|some|those)\b", r"Notify \1"),
    (r"\brings\b", "messages"),
    (r"\bRings\b", "Messages"),
    (r"\ba ring\b", "a queue message"),
    (r"\bA ring\b", "A queue message"),
    (r"\bring's\b", "message's"),
    (r"\bring\b", "message"),
    (r"\b(one|a|each|the) drain\b", r"\1 pass"),
    (r"\bOne drain\b", "One pass"),
    (r"\bA drain\b", "A pass"),
    (r"\bdrains\b", "passes"),
    (r"\bdrained\b", "synced"),
    (r"\b([Dd])raining\b", "syncing"),
    (r"\bDrain(s?)\b", r"Sync\1"),
    (r"\bdrain\b", "sync"),
    (r"\bupkeep\b", "maintenance"),
    (r"\bverdicts\b", "decisions"),
    (r"\bVerdicts\b", "Decisions"),
    (r"\b[Cc]oordinator\b", "scheduler"),
    (r"\bcoded\b", "notice"),
    (r"\blasts\b", "goes on"),
    (r"\bbears on\b", "is related to"),
    (r"\bbearing on\b", "related to"),
    (r"\bgates\b", "filters"),
]
"""Patterns in comments, docstrings and log lines of the packages below, in this order."""

STRINGS = {
    "coded": "notice",
    "doorbell": "publisher",
    "presence": "heartbeat",
    "upkeep": "maintenance",
    "rung": "notified",
    "drain": "sync ticket",
    "ring": "notify",
}
"""Names of loggers, threads, spans and parameters."""

PROSE = (
    "worker/*",
    "shared/tracker/*",
    "shared/coordination/*",
    "shared/store/*",
    "tests/unit/*",
    "tests/integration/*",
    "tests/model/*",
    "tests/support/*",
    "producer/hooks/*",
)
TEXTS = ("*.md", "*.toml", "Makefile", "*.html", "*.yml", "*.yaml", "*.sh", "*.conf", "*.service")


def main() -> None:
    """Rename everything."""
    files = _git("ls-files").split()
    before = {path: (ROOT / path).read_text() for path in files if _is_text(path)}
    modules = _modules(files)
    for path, text in before.items():
        made = _python(path, text, modules) if path.endswith(".py") else _text(path, text, modules)
        if made != text:
            (ROOT / path).write_text(made)
    for path in files:
        if (to := _moved(path)) != path:
            (ROOT / to).parent.mkdir(parents=True, exist_ok=True)
            _git("mv", path, to)
    for path, content in NEW_PACKAGES.items():
        (ROOT / path).write_text(content)
        _git("add", path)


def _is_text(path: str) -> bool:
    if path == SELF or not (ROOT / path).is_file():
        return False
    return path.endswith(".py") or any(fnmatch.fnmatch(path, one) for one in TEXTS)


def _moved(path: str) -> str:
    if path in MOVES:
        return MOVES[path]
    for package, to in PACKAGES.items():
        if path.startswith(f"{package}/"):
            return f"{to}/{path.removeprefix(package + '/')}"
    return path


def _modules(files: list[str]) -> dict[str, str]:
    """Return module and file names to what they become, the longest first."""
    found = {}
    for path in files:
        if path.endswith(".py") and (to := _moved(path)) != path:
            found[path] = to
            if not path.endswith("__init__.py"):
                found[path.removesuffix(".py").replace("/", ".")] = to.removesuffix(".py").replace("/", ".")
    found |= {one.replace("/", "."): to.replace("/", ".") for one, to in PACKAGES.items()}
    found |= {f"{one}/": f"{to}/" for one, to in PACKAGES.items()}
    return dict(sorted(found.items(), key=lambda one: -len(one[0])))


def _of(path: str) -> dict[str, str]:
    found = dict(IDENTIFIERS)
    for pattern, some in SCOPED.items():
        if fnmatch.fnmatch(path, pattern):
            found |= some
    return found


def _python(path: str, text: str, modules: dict[str, str]) -> str:
    names, is_prose = _of(path), any(fnmatch.fnmatch(path, one) for one in PROSE)
    text = _from_package(_replaced(text, modules))
    lines, edits = text.splitlines(keepends=True), []
    previous, line_so_far = None, ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        said = token.string
        if token.type == tokenize.NAME and token.string in names and not _is_import(lines, token):
            is_attribute = lines[token.start[0] - 1][: token.start[1]].endswith(".")
            attribute = names.get(f".{token.string}") or IDENTIFIERS.get(token.string, token.string)
            said = attribute if is_attribute else names[token.string]
        elif token.type == tokenize.NAME and is_prose and token.string.startswith("test_"):
            said = _phrases(token.string.replace("_", " ")).replace(" ", "_").replace("'", "")
        elif token.type == tokenize.COMMENT:
            said = _prose(token.string, names, is_prose=is_prose)
        elif token.type == tokenize.STRING:
            said = _string(
                token.string,
                names,
                line_so_far,
                is_docstring=previous in _BEFORE_A_DOCSTRING,
                is_prose=is_prose,
            )
        if said != token.string:
            edits.append((token.start, token.end, said))
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            line_so_far = ""
        else:
            line_so_far += token.string
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            previous = token.type
    for (row, column), (last_row, last_column), said in reversed(edits):
        head, tail = lines[row - 1][:column], lines[last_row - 1][last_column:]
        lines[row - 1 : last_row] = [head + said + tail]
    return "".join(lines)


_BEFORE_A_DOCSTRING = (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def _is_import(lines: list[str], token: tokenize.TokenInfo) -> bool:
    """Tell whether a name is part of a module's path, or of an import from a package: those are renamed by path."""
    line = lines[token.start[0] - 1]
    found = re.match(r"\s*(from\s+[\w.]+\s+import\b|import\s+[\w.]+)", line)
    return found is not None and token.start[1] < found.end()


def _from_package(text: str) -> str:
    """Rename modules that are imported by their package's name, each on a line of its own."""
    homes = {}
    for path, to in MOVES.items():
        package, _, module = path.removesuffix(".py").replace("/", ".").rpartition(".")
        home, _, name = to.removesuffix(".py").replace("/", ".").rpartition(".")
        moved = PACKAGES.get(package.replace(".", "/"), package).replace("/", ".")
        homes[package, module] = homes[moved, module] = home, name

    def moved_import(found: re.Match[str]) -> str:
        indent, package, names = found.groups()
        modules = [one.strip() for one in names.split(",")]
        if not any((package, one.partition(" as ")[0]) in homes for one in modules):
            return found.group()
        made = []
        for said in modules:
            one, _, alias = said.partition(" as ")
            home, name = homes.get((package, one), (package, one))
            kept = alias or IDENTIFIERS.get(one, one)
            made.append(f"{indent}from {home} import {name}" + ("" if name == kept else f" as {kept}"))
        return "\n".join(made)

    return re.sub(
        r"^( *)from ([\w.]+) import (\w+(?: as \w+)?(?:, \w+(?: as \w+)?)*)$", moved_import, text, flags=re.M
    )


def _string(said: str, names: dict[str, str], line: str, *, is_docstring: bool, is_prose: bool) -> str:
    if is_docstring:
        return _prose(said, names, is_prose=is_prose)
    if re.match(r"(?i)r?fr?[\"']", said):
        return re.sub(r"\{[^{}]*\}", lambda one: _names(one.group(), names), said)
    inner = said.strip("\"'")
    if inner in STRINGS:
        return said.replace(inner, STRINGS[inner])
    if "setattr" in line and re.fullmatch(r"[a-z_]+(\.\w+)+", inner):
        return _names(said, names)
    if inner in names and ("setattr" in line or "patch" in line or "__all__" in line):
        return said.replace(inner, names[inner])
    if is_prose and re.search(r"log\.\w+\($", line):
        return _phrases(said)
    return said


def _prose(said: str, names: dict[str, str], *, is_prose: bool) -> str:
    said = re.sub(r"`[^`\n]+`", lambda one: _names(one.group(), names), said)
    said = re.sub(r"(?m)^( +)(\w+(?:, \w+)*)(?=: )", lambda one: one[1] + _names(one[2], names), said)
    return _phrases(said) if is_prose else said


def _names(said: str, names: dict[str, str]) -> str:
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda one: names.get(one.group(), one.group()), said)


def _phrases(said: str) -> str:
    parts = re.split(r"(`[^`\n]+`)", said)
    for pattern, to in PHRASES:
        parts[::2] = [re.sub(pattern, to, one) for one in parts[::2]]
    return "".join(parts)


LAYERS = {
    """    "tasks",
    "dry_runs | upkeep",
    "bootstrap",
    "ability | consumer | handing | monitor | schedule | start | sweep | sync | watchdog",
""": """    "celery_tasks",
    "dry_runs | maintenance",
    "app",
    "ability | consumer | health | message_handler | runtime | schedule | start | sweep | watchdog",
    "ticket",
""",
    'name = "worker: the process over a drain"': 'name = "worker: the process over the workflow of a ticket"',
    '    "coordination",\n': '    "queue",\n    "redis",\n',
    '"verdicts", "transaction", "opening", "bearing"': '"decisions", "transaction", "opening", "related_rows"',
}
"""Layers of the import rules."""


def _text(path: str, text: str, modules: dict[str, str]) -> str:
    text = _replaced(text, modules)
    if path == "pyproject.toml":
        for one, to in LAYERS.items():
            text = text.replace(one, to)
    if path.endswith(".html"):
        text = re.sub(r"\.coded\b", ".notice", text)
    return text


def _replaced(text: str, modules: dict[str, str]) -> str:
    for one, to in modules.items():
        text = re.sub(
            rf"(?<![\w/.]){re.escape(one)}(?!\w)" if not one.endswith("/") else re.escape(one), to, text
        )
    return text


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


if __name__ == "__main__":
    main()
