"""Accounts and API tokens."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from producer.admin.access.accounts import AccountRefused
from producer.admin.records.rights import OF_ACCOUNTS, Right
from producer.console.auth.answers import WithServices
from producer.console.auth.once import PATH as ONCE
from producer.console.auth.once import FlashMessage, forget, hand_over, handed_over
from producer.console.auth.rights import require
from producer.console.pages.parts import Form, go, page_router, show
from producer.http.problems import Problem
from shared.notices.access import AccessRefusal
from shared.notices.notice import Code

router = page_router()
PATH = "/console/access"
DURATIONS = (30, 90, 365)
"""Days after which a token may expire."""


@router.get("/access")
def access(request: Request, services: WithServices) -> Response:
    """List accounts and tokens."""
    require(request, Right.ADMINISTRATOR)
    return _show(request, services)


@router.post("/access/accounts")
def add_account(request: Request, services: WithServices, form: Form) -> Response:
    """Add an account; its owner signs in by a link, which is shown once."""
    name = form.text("name")
    try:
        services.accounts.add(name, None, _right(form.text("right"), OF_ACCOUNTS))
    except AccountRefused as refused:
        return _show(request, services, status=422, fault=("account", str(refused)), name=name)
    return _once(request, FlashMessage("link", name, _link(request, services, name)))


@router.get("/access/secret")
def secret(request: Request) -> Response:
    """Show a new link or token, once."""
    require(request, Right.ADMINISTRATOR)
    response = show(request, "secret", secret=handed_over(request))
    forget(request, response)
    return response


@router.post("/access/accounts/change")
def change_account(request: Request, services: WithServices, form: Form) -> Response:
    """Change an account's right, disable or enable it, end its sessions, or create a sign-in link."""
    name, act = form.text("name"), form.text("act")
    try:
        if act == "link":
            return _once(request, FlashMessage("link", name, _link(request, services, name)))
        if act == "right":
            services.accounts.set_right(name, _right(form.text("right"), OF_ACCOUNTS))
        elif act in ("disable", "enable"):
            services.accounts.disable(name, disabled=act == "disable")
        elif act == "sign-out":
            services.accounts.sign_out_everywhere(name)
        else:
            raise Problem(422, "Not valid", why=AccessRefusal.NOTHING_ASKED_FOR())
    except AccountRefused as refused:
        return _show(request, services, status=409, fault=("accounts", str(refused)))
    return go(PATH, "account")


@router.post("/access/tokens")
def add_token(request: Request, services: WithServices, form: Form) -> Response:
    """Create or replace a token of the signed-in user, and show it once."""
    name = form.text("name")
    days = form.number("days") or None
    if days not in (None, *DURATIONS):
        raise Problem(422, "Not valid", why=AccessRefusal.NOTHING_ASKED_FOR())
    try:
        token = services.accounts.add_token(
            name,
            _right(form.text("right"), tuple(Right), AccessRefusal.TOKEN_RIGHT_UNKNOWN),
            request.state.account.name,
            days,
        )
    except AccountRefused as refused:
        return _show(request, services, status=422, fault=("token", str(refused)), name=name)
    return _once(request, FlashMessage("token", name, token))


@router.post("/access/tokens/rotate")
def rotate_token(request: Request, services: WithServices, form: Form) -> Response:
    """Replace a token; the old one remains valid for an hour."""
    name = form.text("name")
    try:
        token = services.accounts.rotate_token(name)
    except AccountRefused as refused:
        return _show(request, services, status=409, fault=("tokens", str(refused)))
    return _once(request, FlashMessage("token", name, token))


@router.post("/access/tokens/revoke")
def revoke_token(services: WithServices, form: Form) -> Response:
    """Revoke a token."""
    services.accounts.revoke_token(form.text("name"))
    return go(PATH, "revoked")


def _once(request: Request, secret: FlashMessage) -> Response:
    response = go(ONCE)
    hand_over(request, response, secret)
    return response


def _link(request: Request, services: WithServices, name: str) -> str:
    base = services.settings.console_url or f"{request.url.scheme}://{request.url.netloc}"
    return f"{base}/console/sign-in?code={services.accounts.link_for(name)}"


def _right(
    text: str, choices: tuple[Right, ...], otherwise: Code = AccessRefusal.ACCOUNT_RIGHT_UNKNOWN
) -> Right:
    if text not in choices:
        raise Problem(422, "Not valid", why=otherwise(rights=[str(one) for one in choices]))
    return Right(text)


def _show(
    request: Request,
    services: WithServices,
    *,
    status: int = 200,
    fault: tuple[str, str] = ("", ""),
    name: str = "",
) -> Response:
    return show(
        request,
        "access",
        status=status,
        accounts=services.accounts.all(),
        tokens=services.accounts.tokens(),
        rights=OF_ACCOUNTS,
        scopes=list(Right),
        fault=fault,
        name=name,
        durations=DURATIONS,
    )
