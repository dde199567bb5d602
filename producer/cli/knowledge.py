"""Knowledge records (SPEC 2.5): show one that ships with deskbridge; check those of a directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import complain, console, count, print_json, say
from producer.cli.register import Json, add

if TYPE_CHECKING:
    from producer.admin.knowledge.record import Record

app = typer.Typer(help="Show knowledge records, or check a directory of them.", no_args_is_help=True)
LARGEST_RECORD = 1024 * 1024


def show(
    record_id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A record, or a code that --json shows: KB-TRACKER-001, no_link.",
            show_default=False,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show a knowledge record: what a finding or a refusal means, why it comes up, and what to do.

    A code that only tells what was done has none: its own sentence says all there is to say.
    """
    from producer.admin.knowledge.shipped import shipped
    from shared.notices.render import article, pattern

    what, why = pattern(record_id)
    if what and not article(record_id):
        _tell(record_id, what, why, as_json=as_json)
        return
    record = shipped(article(record_id) or record_id.upper())
    if as_json:
        print_json({**record.metadata, "body": record.body})
    else:
        _show(record)


def validate(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the records are (*.md, at any depth).")
    ],
    as_json: Json = False,
) -> None:
    """Check every record of a directory.

    Each needs the fields of a knowledge record, an id of its own, and related records that exist. README.md and files
    whose name begins with a dot or an underscore are passed over. Exit code 1 where one is faulty.
    """
    if not directory.is_dir():
        raise WrongUsage(f"{directory} is not a directory")
    records, faults = _look(directory)
    if as_json:
        print_json(
            {"records": records, "faults": [{"file": name, "fault": fault} for name, fault in faults]},
        )
    else:
        for name, fault in faults:
            complain(f"{name}: {fault}")
        if not faults:
            say(f"{count(records, 'record')}, all well formed." if records else f"No record in {directory}.")
    if faults or not records:
        raise typer.Exit(1)


def _show(record: Record) -> None:
    from rich.markdown import Markdown

    from producer.admin.knowledge.shipped import shipped

    facts = record.metadata
    console().print(Markdown(record.body, hyperlinks=False))
    say("", f"{facts['id']} · {facts['status']}, severity {facts['severity']}, updated {facts['updated_at']}")
    for related in facts.get("related_records", ()):
        say(f"See also {related}: {shipped(related).metadata['title']}")


def _tell(code: str, what: str, why: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"code": code, "what": what, "why": why})
        return
    say(f"{code}: {what}", *([why] if why else []))
    say("", "It has no record: this sentence, with its parameters in the gaps, says all there is to say.")


def _look(directory: Path) -> tuple[int, list[tuple[str, str]]]:
    """Return how many records there are, and (file, fault)."""
    from producer.admin.knowledge.record import NotARecord, faults_between, faults_of, parse_record

    faults: list[tuple[str, str]] = []
    read = []
    names = [path for path in sorted(directory.rglob("*.md")) if not _is_passed_over(path)]
    for path in names:
        name = str(path.relative_to(directory))
        try:
            if path.stat().st_size > LARGEST_RECORD:
                raise NotARecord(1, f"larger than {LARGEST_RECORD} bytes")
            record = parse_record(path.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            faults.append((name, "not UTF-8"))
        except NotARecord as fault:
            faults.append((name, str(fault)))
        else:
            faults += [(name, fault) for fault in faults_of(record.metadata)]
            read.append((name, record.metadata))
    return len(names), faults + faults_between(read)


def _is_passed_over(path: Path) -> bool:
    return path.name == "README.md" or path.name.startswith((".", "_"))


add(
    app,
    show,
    None,
    "deskbridge knowledge show KB-TRACKER-001",
    "deskbridge knowledge show no_link",
    "deskbridge knowledge show KB-HINT-002 --json",
)
add(app, validate, None, "deskbridge knowledge validate producer/admin/knowledge/records")
