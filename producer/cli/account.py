"""Who may come in to the console, and the tokens of its API."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.output import print_json, say, table
from producer.cli.register import Json, add
from producer.cli.services import open_services, settings
from shared.notices.access import AccessRefusal
from shared.notices.notice import Code

if TYPE_CHECKING:
    from producer.admin.access.accounts import KnownToken
    from producer.admin.records.rights import Right

app = typer.Typer(help="Say who may use the console and its API.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="What its owner types to sign in.")]
RIGHTS = "viewer, operator (replays, decides, maps people) or administrator"
DEFAULT_URL = "http://127.0.0.1:8081"


def add_account(
    name: Name,
    role: Annotated[str, typer.Option("--role", help=f"What it may do: {RIGHTS}.")] = "viewer",
    no_password: Annotated[
        bool, typer.Option("--no-password", help="Only a link lets its owner in (account link).")
    ] = False,
) -> None:
    """Add an account.

    The password is read from standard input, or asked for on a terminal; kept as an argon2 hash.
    """
    from producer.admin.records.rights import OF_ACCOUNTS

    with open_services() as services:
        right = _right(role, OF_ACCOUNTS)
        services.accounts.add(name, None if no_password else _password(), right)
    say(f"{name} may sign in as {right}.")


def list_accounts(as_json: Json = False) -> None:
    """List the accounts."""
    with open_services() as services:
        found = services.accounts.all()
    if as_json:
        names = ("name", "right", "created_at", "disabled_at")
        print_json([{name: getattr(one, name) for name in names} for one in found])
    elif not found:
        say("Nobody may sign in yet: `deskbridge account add NAME --role administrator`.")
    else:
        rows = [
            (one.name, one.right, when(one.created_at), "disabled" if one.disabled_at else "")
            for one in found
        ]
        table(("Name", "Role", "Since", ""), rows)


def disable(
    name: Name,
    enable: Annotated[bool, typer.Option("--enable", help="Let them in again.")] = False,
) -> None:
    """Let nobody in with an account any more.

    Its sessions end at this moment, and its API tokens are revoked; they stay revoked when it is enabled again.
    """
    with open_services() as services:
        revoked = services.accounts.disable(name, disabled=not enable)
        left = [one.name for one in services.accounts.tokens() if one.owner is None and one.is_good]
    say(f"{name} may sign in again." if enable else f"{name} may not sign in any more.")
    if revoked:
        say(f"API tokens of {name} that are revoked: {revoked} (`deskbridge account tokens` lists them).")
    if left and not enable:
        say(
            f"API tokens of no account still let in whoever has them: {', '.join(left)}. "
            f"Revoke each that {name} knew: `deskbridge account token NAME --revoke`."
        )


def password(name: Name) -> None:
    """Change a password, read from standard input or asked for on a terminal.

    Every session of the account ends.
    """
    with open_services() as services:
        services.accounts.set_password(name, _password())
    say(f"The password of {name} is changed.")


def link(name: Name) -> None:
    """Print a link that signs somebody in once, within 15 minutes.

    For whoever has no password yet, or has forgotten it.
    """
    with open_services() as services:
        code = services.accounts.link_for(name)
    say(f"{settings().console_url or DEFAULT_URL}/console/sign-in?code={code}")


def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            help=f"What it may do: links (read what a helpdesk shows of links and tickets), {RIGHTS}.",
        ),
    ] = "viewer",
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="ACCOUNT",
            help="The account that it belongs to: it may do no more than that, and ends when that is disabled.",
        ),
    ] = None,
    expires: Annotated[
        int | None,
        typer.Option(metavar="DAYS", min=1, max=3650, help="It ends after so many days.", show_default=False),
    ] = None,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Replace it: the one before goes on for an hour.")
    ] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Let nobody in with it any more.")] = False,
) -> None:
    """Make a token of the API, and print it: it is never shown again.

    A helpdesk that shows links, and what became of its tickets, needs one with `--scope links`. Without an owner it
    belongs to no account, and only `--revoke` ends it.
    """
    from producer.admin.records.rights import Right
    from producer.cli.failures import WrongUsage

    if revoke and rotate:
        raise WrongUsage("say either --rotate or --revoke")
    with open_services() as services:
        if revoke:
            services.accounts.revoke_token(name)
            say(f"The token {name} is revoked; its name is free again.")
        elif rotate:
            say(services.accounts.rotate_token(name))
        else:
            right = _right(scope, tuple(Right), AccessRefusal.TOKEN_RIGHT_UNKNOWN)
            say(services.accounts.add_token(name, right, owner, expires))


def tokens(as_json: Json = False) -> None:
    """List the API's tokens, and when each was last used."""
    with open_services() as services:
        found = services.accounts.tokens()
    if as_json:
        names = ("name", "right", "owner", "created_at", "used_at", "revoked_at", "expires_at")
        print_json([{name: getattr(one, name) for name in names} for one in found])
    elif not found:
        say("There is none: `deskbridge account token NAME`.")
    else:
        rows = [
            (
                one.name,
                one.right,
                one.owner or "no account",
                when(one.created_at),
                when(one.used_at) or "never",
                _standing(one),
            )
            for one in found
        ]
        table(("Name", "Scope", "Owner", "Made", "Last used", ""), rows)


def _right(
    text: str, choices: tuple[Right, ...], otherwise: Code = AccessRefusal.ACCOUNT_RIGHT_UNKNOWN
) -> Right:
    from producer.cli.failures import WrongUsage

    if text not in choices:
        raise WrongUsage(otherwise(rights=[str(one) for one in choices]))
    return next(one for one in choices if one == text)


def _standing(one: KnownToken) -> str:
    if one.revoked_at:
        return f"ends {when(one.revoked_at)}" if one.is_good else "revoked"
    if one.expires_at:
        return f"expires {when(one.expires_at)}" if one.is_good else "expired"
    return ""


def _password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.read(10_000).rstrip("\r\n")


add(
    app,
    add_account,
    None,
    "deskbridge account add claire --role administrator",
    "deskbridge account add hugo --role operator < password.txt",
    name="add",
)
add(app, list_accounts, None, "deskbridge account list", "deskbridge account list --json", name="list")
add(app, disable, None, "deskbridge account disable hugo", "deskbridge account disable hugo --enable")
add(app, password, None, "deskbridge account password claire")
add(app, link, None, "deskbridge account link claire")
add(
    app,
    token,
    None,
    "deskbridge account token glpi --scope links",
    "deskbridge account token scripts --scope operator --owner hugo",
    "deskbridge account token scripts --expires 90",
    "deskbridge account token glpi --rotate",
    "deskbridge account token glpi --revoke",
)
add(app, tokens, None, "deskbridge account tokens", "deskbridge account tokens --json")
