"""Checks every component, and suggests fixes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.doctor.finding import finding_json
from producer.cli.failures import WrongUsage
from producer.cli.output import console, plain, print_json, say
from producer.cli.register import Json, Panel, command
from producer.cli.services import settings

if TYPE_CHECKING:
    from producer.admin.doctor.finding import CheckResult
    from producer.admin.services import Services

STYLES = {"ok": "green", "warning": "yellow", "failure": "red", "unknown": "magenta"}


@command(
    Panel.WATCH,
    "doctor",
    "deskbridge doctor",
    "deskbridge doctor --helpdesk",
    "deskbridge doctor --all",
    "deskbridge doctor --json",
    "deskbridge doctor --bundle support.zip",
)
def doctor(
    helpdesk: Annotated[
        bool, typer.Option("--helpdesk", help="Check only whether GLPI is connected.")
    ] = False,
    every: Annotated[
        bool,
        typer.Option("--all", help="Check every mapped Redmine project, without a time limit."),
    ] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="FILE",
            help="Write a zip file for support, without secrets, names and texts.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every component and suggest fixes.

    Exits with 1 if a check fails. Warnings do not count. Each result that needs action has the id of an article
    (`deskbridge article show`).
    """
    findings = _findings(helpdesk=helpdesk, every=every, bundle=bundle)
    if bundle is not None and not as_json:
        say(f"{bundle} is written. It holds no secrets, names or texts; look at it before you send it.")
        return
    if as_json:
        print_json([finding_json(one) for one in findings])
    else:
        _tell(findings)
    if any(one.status == "failure" for one in findings):
        raise typer.Exit(1)


def _findings(*, helpdesk: bool, every: bool, bundle: Path | None) -> list[CheckResult]:
    from producer.admin.doctor.examination import examine_helpdesk
    from producer.admin.doctor.installation import Installation
    from producer.admin.doctor.latest import examined
    from producer.admin.records.transaction import Store
    from producer.admin.services import Services
    from shared.store.tables.database import Database

    loaded = settings()
    database = Database(loaded.database_url.get_secret_value())
    services = Services(loaded, Store(database))
    installation = Installation.of(services)
    if every:
        installation.patience_s = None
    try:
        findings = list((examine_helpdesk if helpdesk else examined)(installation))
        if bundle is not None:
            _write(services, findings, bundle)
        return findings
    finally:
        database.close()


def _write(services: Services, findings: list[CheckResult], file: Path) -> None:
    from producer.admin.doctor.bundle import write_bundle

    try:
        write_bundle(services, findings, file)
    except OSError as error:
        raise WrongUsage(f"--bundle {file} cannot be written: {error.strerror}") from None


def _line(one: CheckResult, blind: list[CheckResult]) -> str:
    """Return a result as a line; the checks that were not done share one line."""
    if one in blind:
        return f"{', '.join(each.label for each in blind)}: {one.what}"
    return f"{one.label:14} {one.what}"


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
