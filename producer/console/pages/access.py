"""Accounts and API tokens: who may come in."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from producer.admin.access.accounts import AccountRefused
from producer.admin.records.rights import OF_ACCOUNTS, Right
from producer.console.entry.answers import AtDesk
from producer.console.entry.rights import require
from producer.console.pages.parts import Form, go, page_router, show
from producer.web.problems import Problem
from shared.codes.refusals import Refusal

router = page_router()
PATH = "/console/access"


@router.get("/access")
def access(request: Request, desk: AtDesk) -> Response:
    """List accounts and tokens."""
    require(request, Right.ADMINISTRATOR)
    return _show(request, desk)


@router.post("/access/accounts")
def add_account(request: Request, desk: AtDesk, form: Form) -> Response:
    """Add an account; its owner comes in by a link, shown once."""
    name = form.text("name")
    try:
        desk.accounts.add(name, None, _right(form.text("right"), OF_ACCOUNTS))
    except AccountRefused as refused:
        return _show(request, desk, status=422, fault=("account", str(refused)), name=name)
    return _show(request, desk, link=(name, _link(request, desk, name)))


@router.post("/access/accounts/change")
def change_account(request: Request, desk: AtDesk, form: Form) -> Response:
    """Change what an account may do, shut it, open it, end its sessions, or make a link for its owner."""
    name, act = form.text("name"), form.text("act")
    try:
        if act == "link":
            return _show(request, desk, link=(name, _link(request, desk, name)))
        if act == "right":
            desk.accounts.set_right(name, _right(form.text("right"), OF_ACCOUNTS))
        elif act in ("disable", "enable"):
            desk.accounts.disable(name, disabled=act == "disable")
        elif act == "sign-out":
            desk.accounts.sign_out_everywhere(name)
        else:
            raise Problem(422, "Not valid", why=Refusal.NOTHING_ASKED_FOR())
    except AccountRefused as refused:
        return _show(request, desk, status=409, fault=("accounts", str(refused)))
    return go(PATH, "account")


@router.post("/access/tokens")
def add_token(request: Request, desk: AtDesk, form: Form) -> Response:
    """Make a token of whoever is signed in, and show it this once."""
    name = form.text("name")
    try:
        token = desk.accounts.add_token(
            name,
            _right(form.text("right"), tuple(Right), Refusal.TOKEN_RIGHT_UNKNOWN),
            request.state.account.name,
        )
    except AccountRefused as refused:
        return _show(request, desk, status=422, fault=("token", str(refused)), name=name)
    return _show(request, desk, token=(name, token))


@router.post("/access/tokens/revoke")
def revoke_token(desk: AtDesk, form: Form) -> Response:
    """Revoke a token."""
    desk.accounts.revoke_token(form.text("name"))
    return go(PATH, "revoked")


def _link(request: Request, desk: AtDesk, name: str) -> str:
    base = desk.settings.console_url or f"{request.url.scheme}://{request.url.netloc}"
    return f"{base}/console/sign-in?code={desk.accounts.link_for(name)}"


def _right(
    text: str, choices: tuple[Right, ...], otherwise: Refusal = Refusal.ACCOUNT_RIGHT_UNKNOWN
) -> Right:
    found = next((one for one in choices if one == text), None)
    if found is None:
        raise Problem(422, "Not valid", why=otherwise(rights=[str(one) for one in choices]))
    return found


def _show(
    request: Request,
    desk: AtDesk,
    *,
    status: int = 200,
    fault: tuple[str, str] = ("", ""),
    name: str = "",
    link: tuple[str, str] | None = None,
    token: tuple[str, str] | None = None,
) -> Response:
    return show(
        request,
        "access",
        status=status,
        accounts=desk.accounts.all(),
        tokens=desk.accounts.tokens(),
        rights=OF_ACCOUNTS,
        scopes=list(Right),
        fault=fault,
        name=name,
        link=link,
        token=token,
    )
