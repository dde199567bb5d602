"""Lists in the documentation that are generated from the programs: commands, routes, codes."""

from __future__ import annotations

import re
from html import unescape

import typer
from fastapi import FastAPI
from typer.cli import get_docs_for_click

from deploy.site.markdown import code, link, table
from deploy.site.tables import RECORDS
from producer.cli.main import app
from producer.console.app import create_console
from producer.intake.app import create_app
from shared.notices.notice import CODES, Code, Plural
from shared.process.settings import Settings

LEFT_OUT = (
    r"(?s)^.*?(?=\n## )",
    r"(?s)\*\*Commands\*\*:\n.*?(?=\n#|\Z)",
    r"\n\* `--help`.*",
    r"\*\*Options\*\*:\n\n(?=\n)",
    r"\*\*Usage\*\*:\n\n",
)
"""Parts of typer's output: the program's own help, lists of commands with cut sentences, --help, empty headings."""


def commands() -> str:
    """Return every command with its arguments, options and examples."""
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="deskbridge")
    for pattern in LEFT_OUT:
        text = re.sub(pattern, "", text)
    text = re.sub(r"^(#+) `deskbridge (.+)`$", r"\1 \2", text, flags=re.MULTILINE)
    text = text.replace("```console\n$ ", "```text\n")
    return re.sub(r"\[bold\]Examples\[/bold\]\n((?:\n?\[cyan\].+\n?)+)", _examples, text).strip()


def _examples(found: re.Match[str]) -> str:
    lines = "\n".join(re.findall(r"\[cyan\](.+?)\[/cyan\]", found[1])).replace("\\[", "[")
    return f"**Examples**:\n\n```sh\n{unescape(lines)}\n```\n"


def producer() -> str:
    """Return every route of the producer."""
    return _routes(create_app(_given()))


def console() -> str:
    """Return every route of the console's API."""
    return _routes(create_console(_given()))


def _given() -> Settings:
    """Return settings for an application of which only the routes are read."""
    return Settings.model_validate({"database_url": "postgresql+psycopg2://", "allow_unsigned": True})


def _routes(application: FastAPI) -> str:
    rows = []
    for path, methods in application.openapi()["paths"].items():
        for method, route in methods.items():
            said = route.get("description") or route.get("summary", "")
            answers = ", ".join(status for status in route["responses"] if status < "300")
            rows.append((code(f"{method.upper()} {path}"), said.split("\n\n")[0], answers))
    return table(("request", "does", "answers"), rows)


def codes() -> str:
    """Return every code with its sentence and article, by its kind."""
    parts = []
    kinds = dict.fromkeys(type(code) for code in CODES.values())
    for kind in sorted(kinds, key=lambda one: one.__module__):
        rows = ((code(str(one)), _sentence(one), _record(one)) for one in kind)
        parts += [
            f"## {kind.__name__}",
            (kind.__doc__ or "").split("\n\n")[0],
            table(("code", "says", "record"), rows),
        ]
    return "\n\n".join(parts)


def _sentence(one: Code) -> str:
    text = one.text.many if isinstance(one.text, Plural) else one.text
    return code(text.replace("`", "'"))


def _record(one: Code) -> str:
    return link(f"{RECORDS}/{one.article}.md", one.article) if one.article else ""
