"""Knowledge articles (SPEC 2.5): show one that ships with deskbridge, or check those of a directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.failures import WrongUsage
from producer.cli.output import complain, console, count, print_json, say
from producer.cli.register import ARTICLE, Json, command

if TYPE_CHECKING:
    from producer.admin.knowledge.article import Article

LARGEST_ARTICLE = 1024 * 1024


@command(
    ARTICLE,
    "show",
    "deskbridge article show KB-TRACKER-001",
    "deskbridge article show no_link",
    "deskbridge article show KB-HINT-002 --json",
    was="knowledge show",
)
def show(
    record_id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="Id of an article, or a code that --json shows, such as KB-TRACKER-001 or no_link.",
            show_default=False,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show the article on a message.

    The article explains the reason and what to do. A code without an article shows its own text.
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


@command(ARTICLE, "check", "deskbridge article check my-articles", was="knowledge validate")
def check(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Directory of the articles. Subdirectories are included.")
    ],
    as_json: Json = False,
) -> None:
    """Check every article in a directory.

    Each *.md file needs the fields of an article and a unique id, and its related articles must exist. README.md and
    names that begin with a dot or an underscore are ignored. Exits with 1 if an article is faulty.
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
            say(
                f"{count(records, 'article')} checked. No faults."
                if records
                else f"{directory} contains no articles."
            )
    if faults or not records:
        raise typer.Exit(1)


def _show(record: Article) -> None:
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
    say("", "This code has no article. Its text contains everything that deskbridge knows.")


def _look(directory: Path) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of articles, and (file, fault) for each fault."""
    from producer.admin.knowledge.article import NotAnArticle, faults_between, faults_of, parse_article

    faults: list[tuple[str, str]] = []
    read = []
    names = [path for path in sorted(directory.rglob("*.md")) if not _is_ignored(path)]
    for path in names:
        name = str(path.relative_to(directory))
        try:
            if path.stat().st_size > LARGEST_ARTICLE:
                raise NotAnArticle(1, f"larger than {LARGEST_ARTICLE} bytes")
            record = parse_article(path.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            faults.append((name, "not UTF-8"))
        except NotAnArticle as fault:
            faults.append((name, str(fault)))
        else:
            faults += [(name, fault) for fault in faults_of(record.metadata)]
            read.append((name, record.metadata))
    return len(names), faults + faults_between(read)


def _is_ignored(path: Path) -> bool:
    return path.name == "README.md" or path.name.startswith((".", "_"))
