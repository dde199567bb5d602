"""Accounts of the console, and tokens of its API."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from producer.admin.presenters.moments import when
from producer.cli.output import count, print_json, say, table, warn
from producer.cli.register import ACCOUNT, Json, command
from producer.cli.services import open_services, settings
from shared.notices.access import AccessRefusal
from shared.notices.notice import Code

if TYPE_CHECKING:
    from producer.admin.access.accounts import KnownToken
    from producer.admin.records.rights import Right

Name = Annotated[str, typer.Argument(metavar="NAME", help="Sign-in name.")]
RIGHTS = "viewer, operator (replays events, resolves holds, maps users) or administrator"
DEFAULT_URL = "http://127.0.0.1:8081"


@command(
    ACCOUNT,
    "add",
    "deskbridge account add claire --role administrator",
    "deskbridge account add hugo --role operator < password.txt",
)
def add_account(
    name: Name,
    role: Annotated[str, typer.Option("--role", help=f"Role: {RIGHTS}.")] = "viewer",
    no_password: Annotated[
        bool,
        typer.Option("--no-password", help="Add no password. The user signs in with a link (account link)."),
    ] = False,
) -> None:
    """Add an account.

    deskbridge reads the password from standard input, or prompts for it on a terminal. It stores an argon2 hash.
    """
    from producer.admin.records.rights import OF_ACCOUNTS

    with open_services() as services:
        right = _right(role, OF_ACCOUNTS)
        services.accounts.add(name, None if no_password else _password(), right)
    say(f"{name} can sign in as {right}.")


@command(ACCOUNT, "list", "deskbridge account list", "deskbridge account list --json")
def list_accounts(as_json: Json = False) -> None:
    """List the console accounts."""
    with open_services() as services:
        found = services.accounts.all()
    if as_json:
        names = ("name", "right", "created_at", "disabled_at")
        print_json([{name: getattr(one, name) for name in names} for one in found])
    elif not found:
        say(
            "There are no accounts. Run `deskbridge account add NAME --role administrator` to add the first one."
        )
    else:
        rows = [
            (one.name, one.right, when(one.created_at), "disabled" if one.disabled_at else "")
            for one in found
        ]
        table(("Name", "Role", "Since", ""), rows)


@command(ACCOUNT, "disable", "deskbridge account disable hugo", "deskbridge account disable hugo --enable")
def disable(
    name: Name,
    enable: Annotated[bool, typer.Option("--enable", help="Enable the account again.")] = False,
) -> None:
    """Disable an account.

    This ends its sessions at once and revokes its API tokens. The tokens stay revoked if you enable the account again.
    """
    with open_services() as services:
        revoked = services.accounts.disable(name, disabled=not enable)
        left = [one.name for one in services.accounts.tokens() if one.owner is None and one.is_good]
    say(f"{name} can sign in again." if enable else f"{name} can no longer sign in.")
    if revoked:
        say(
            f"{count(revoked, 'API token')} of {name} {'was' if revoked == 1 else 'were'} revoked "
            "(see `deskbridge account tokens`)."
        )
    if left and not enable:
        say(
            f"These API tokens belong to no account and stay valid: {', '.join(left)}. "
            f"If {name} knows one of them, run `deskbridge account token NAME --revoke`."
        )


@command(ACCOUNT, "password", "deskbridge account password claire")
def password(name: Name) -> None:
    """Change the password of an account.

    deskbridge reads the password from standard input, or prompts for it on a terminal. All sessions of the account end.
    """
    with open_services() as services:
        services.accounts.set_password(name, _password())
    say(f"The password of {name} was changed.")


@command(ACCOUNT, "link", "deskbridge account link claire")
def link(name: Name) -> None:
    """Print a link to sign in once, within 15 minutes.

    Use it for a user who has no password or forgot it.
    """
    with open_services() as services:
        code = services.accounts.link_for(name)
    address = settings().console_url
    say(f"{address or DEFAULT_URL}/console/sign-in?code={code}")
    if not address:
        warn(
            "DESKBRIDGE_CONSOLE_URL is not set: change address and port if the console does not listen there"
        )


@command(
    ACCOUNT,
    "token",
    "deskbridge account token glpi --scope links",
    "deskbridge account token scripts --scope operator --owner hugo",
    "deskbridge account token scripts --expires 90",
    "deskbridge account token glpi --rotate",
    "deskbridge account token glpi --revoke",
)
def token(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the token, such as the program that uses it.")
    ],
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            help=f"Scope: links (read what GLPI shows of mappings and tickets), {RIGHTS}.",
        ),
    ] = "viewer",
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="ACCOUNT",
            help="Account of the token, which limits its scope. If the account is disabled, the token is revoked.",
        ),
    ] = None,
    expires: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS",
            min=1,
            max=3650,
            help="Number of days after which the token expires.",
            show_default=False,
        ),
    ] = None,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Replace the token. The previous one works for another hour.")
    ] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke the token.")] = False,
) -> None:
    """Create, rotate or revoke an API token.

    The token is shown only once. GLPI's plugin needs one with `--scope links`. A token without an owner and expiry is
    valid until you run the command with `--revoke`.
    """
    from producer.admin.records.rights import Right
    from producer.cli.failures import WrongUsage

    if revoke and rotate:
        raise WrongUsage("choose either --rotate or --revoke")
    with open_services() as services:
        if revoke:
            services.accounts.revoke_token(name)
            say(f"The token {name} was revoked. You can use its name again.")
        elif rotate:
            say(services.accounts.rotate_token(name))
        else:
            right = _right(scope, tuple(Right), AccessRefusal.TOKEN_RIGHT_UNKNOWN)
            say(services.accounts.add_token(name, right, owner, expires))


@command(ACCOUNT, "tokens", "deskbridge account tokens", "deskbridge account tokens --json")
def tokens(as_json: Json = False) -> None:
    """List the API tokens, and when each was last used."""
    with open_services() as services:
        found = services.accounts.tokens()
    if as_json:
        print_json(found)
    elif not found:
        say("There are no API tokens. Run `deskbridge account token NAME` to create one.")
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
        table(("Name", "Scope", "Owner", "Created", "Last used", ""), rows)


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
