"""Knowledge records (SPEC 2.5): are those of a directory well formed?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from producer.commands.failures import WrongUsage
from producer.commands.output import complain, count, print_json, say
from producer.commands.register import Json, add

app = typer.Typer(help="Check knowledge records: Markdown with front matter.", no_args_is_help=True)
LARGEST_RECORD = 1024 * 1024


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


def _look(directory: Path) -> tuple[int, list[tuple[str, str]]]:
    """Return how many records there are, and (file, fault)."""
    from producer.admin.knowledge import NotARecord, faults_between, faults_of, parse_record

    faults: list[tuple[str, str]] = []
    read = []
    names = [path for path in sorted(directory.rglob("*.md")) if not _is_passed_over(path)]
    for path in names:
        name = str(path.relative_to(directory))
        try:
            if path.stat().st_size > LARGEST_RECORD:
                raise NotARecord(1, f"larger than {LARGEST_RECORD} bytes")
            record = parse_record(path.read_text(encoding="utf-8"))
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


add(app, validate, None, "deskbridge knowledge validate docs/knowledge")
