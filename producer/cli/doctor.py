"""Is every part ready?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.doctor.finding import finding_json
from producer.cli.output import console, plain, print_json, say
from producer.cli.register import Json, add
from producer.cli.services import settings

if TYPE_CHECKING:
    from producer.admin.doctor.finding import CheckResult

STYLES = {"ok": "green", "warning": "yellow", "failure": "red", "unknown": "magenta"}


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(
        app,
        doctor,
        panel,
        "deskbridge doctor",
        "deskbridge doctor --helpdesk",
        "deskbridge doctor --all",
        "deskbridge doctor --json",
    )


def doctor(
    helpdesk: Annotated[
        bool, typer.Option("--helpdesk", help="Only whether the helpdesk is connected.")
    ] = False,
    every: Annotated[
        bool,
        typer.Option("--all", help="Look at each linked tracker project, however long the tracker takes."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether every part is ready.

    And where one is not, what is to be done. Exit code 1 where something fails; warnings alone do not. Each names the
    knowledge record that says more.
    """
    findings = _findings(helpdesk=helpdesk, every=every)
    if as_json:
        print_json([finding_json(one) for one in findings])
    else:
        _tell(findings)
    if any(one.status == "failure" for one in findings):
        raise typer.Exit(1)


def _findings(*, helpdesk: bool, every: bool) -> list[CheckResult]:
    from producer.admin.doctor.examination import examine_helpdesk
    from producer.admin.doctor.installation import Installation
    from producer.admin.doctor.latest import examined
    from producer.admin.records.transaction import Store
    from producer.admin.services import Services
    from shared.store.tables.database import Database

    loaded = settings()
    database = Database(loaded.database_url.get_secret_value())
    installation = Installation.of(Services(loaded, Store(database)))
    if every:
        installation.patience_s = None
    try:
        return list((examine_helpdesk if helpdesk else examined)(installation))
    finally:
        database.close()


def _line(one: CheckResult, blind: list[CheckResult]) -> str:
    """Return a finding; everything that was not looked at is one line."""
    if one in blind:
        return f"{', '.join(each.check for each in blind)}: {one.what}"
    return f"{one.check:14} {one.what}"


def _tell(findings: list[CheckResult]) -> None:
    from rich.text import Text

    from shared.notices.doctor_service import ServiceFinding

    out = console()
    blind = [
        one
        for one in findings
        if one.found.code in (ServiceFinding.NOT_LOOKED_AT, ServiceFinding.NOT_REACHED_IN_TIME)
    ]
    for one in findings:
        if one in blind[1:]:
            continue
        line = Text(f"{one.status:8}", style=STYLES[one.status])
        out.print(line.append(plain(_line(one, blind)), style="default"), soft_wrap=True)
        if one.todo:
            record = "" if one in blind else f" ({one.record})"
            out.print(Text(plain(f"{'':8}→ {one.todo}{record}"), style="dim"), soft_wrap=True)
    counts = {status: sum(one.status == status for one in findings) for status in STYLES}
    say("", ", ".join(f"{count} {status}" for status, count in counts.items() if count or status == "ok"))
