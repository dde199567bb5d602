"""Sign-in, sign-out, the user's own password, and the language."""

from __future__ import annotations

import math
import threading

from fastapi import APIRouter, Request
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import HTMLResponse, Response

from producer.admin.access.accounts import AccountRefused
from producer.admin.access.passwords import TooBusy
from producer.console.auth import visitors
from producer.console.auth.answers import WithServices
from producer.console.pages.parts import Form, go, page_router, show
from producer.console.rendering.addresses import address, own_path
from producer.console.rendering.languages import COOKIE, NAMES
from producer.console.rendering.view import HEADERS
from producer.http.buckets import Buckets
from producer.http.problems import Problem
from producer.http.sources import source_of
from shared.notices.access import AccessRefusal
from shared.notices.language import said
from shared.telemetry.logs import get_logger

log = get_logger("console")
TRIES_OF_ADDRESS = 10
TRIES_FOR_NAME = 20
FORGIVEN_PER_S = 1 / 6
HOP = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>deskbridge</title>'

open_router = APIRouter(prefix=visitors.PATH, include_in_schema=False)
router = page_router()


class Tries:
    """Rate limiter of wrong passwords by address, and by account name or device; each process counts separately.

    The limit by name applies to browsers that never signed in to the account. A browser that did has its own limit, so
    that no one who guesses passwords locks the owner out. A try counts as wrong from the start, so that parallel tries
    gain nothing.
    """

    def __init__(self) -> None:
        self._of_address = Buckets(FORGIVEN_PER_S, TRIES_OF_ADDRESS)
        self._for_name = Buckets(FORGIVEN_PER_S, TRIES_FOR_NAME)
        self._lock = threading.Lock()

    def begin(self, address: str, name: str = "", device: str = "") -> int:
        """Count a try and return 0, or return the seconds to wait if no try is allowed now.

        Args:
            address: source address of the try.
            name: name of the account.
            device: id of the browser, if it has signed in to that account before.
        """
        with self._lock:
            waits = [self._of_address.wait(address)]
            if name:
                waits.append(self._for_name.wait(_counted(name, device)))
            wait = math.ceil(max(waits))
            if not wait:
                self._take(address, name, device, 1)
            return wait

    def take_back(self, address: str, name: str = "", device: str = "") -> None:
        """Uncount a try that was not wrong."""
        with self._lock:
            self._take(address, name, device, -1)

    def _take(self, address: str, name: str, device: str, count: int) -> None:
        self._of_address.take(address, count)
        if name:
            self._for_name.take(_counted(name, device), count)


def _counted(name: str, device: str) -> tuple[str, str]:
    return (name.casefold(), "") if not device else ("", device)


def sign_in_needed(request: Request) -> Response:
    """Answer a request without a signed-in user.

    The session cookie is SameSite=Strict, so a link from another site arrives without it even if the user is signed in.
    The response reloads the address as one of our own pages, which sends the cookie.
    """
    if request.method not in ("GET", "HEAD"):
        return show(request, "signed_out", status=401)
    foreign = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if foreign and visitors.session_of(request) is None:
        return HTMLResponse(HOP, headers=HEADERS)
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    path = f"{visitors.PATH}/sign-in"
    return go(address(path, next=wanted if wanted != visitors.PATH else None))


@open_router.get("/sign-in")
def sign_in_page(request: Request, next: str = "", code: str = "") -> Response:
    """Show the sign-in form; after a sign-in link, only ask whether to continue."""
    return sign_in_form(request, next=own_path(next), code=code)


@open_router.post("/sign-in")
def sign_in(request: Request, services: WithServices, form: Form) -> Response:
    """Sign a user in, always with a new session."""
    visitors.check_own_page(request)
    wanted, code = own_path(form.text("next")), form.text("code")
    client = visitors.client_of(request)
    address, name = source_of(client), form.text("name")[:200]
    device = services.accounts.known_device(
        name, request.cookies.get(visitors.cookie_name(request, visitors.DEVICE))
    )
    tries: Tries = request.app.state.tries
    if wait := tries.begin(address, name, device):
        log.warning("refused: too many wrong passwords", client=client)
        return sign_in_form(request, status=429, next=wanted, code=code, name=name, fault=too_many(wait))
    try:
        session = (
            services.accounts.sign_in_by_link(code)
            if code
            else services.accounts.sign_in(name, form.raw("password"))
        )
    except TooBusy as busy:
        tries.take_back(address, name, device)
        return sign_in_form(request, status=503, next=wanted, code=code, name=name, fault=str(busy))
    except SQLAlchemyError:
        tries.take_back(address, name, device)
        raise
    if session is None:
        log.warning("refused: wrong name or password", client=client)
        fault = (
            said("This link has been used already, or is older than 15 minutes.")
            if code
            else said("Wrong name or password.")
        )
        return sign_in_form(request, status=401, next=wanted, name=name, fault=fault)
    tries.take_back(address, name, device)
    if old := visitors.session_of(request):
        services.accounts.sign_out(old)
    response = go(wanted)
    visitors.keep_session(request, response, session, services.accounts.device_of(session))
    return response


def too_many(wait: int) -> str:
    """Return the message after too many tries."""
    return said("Too many attempts. Try again in %(seconds)d seconds.") % {"seconds": wait}


def sign_in_form(
    request: Request, *, next: str, code: str = "", name: str = "", fault: str = "", status: int = 200
) -> Response:
    """Show the sign-in page."""
    sso = request.app.state.sso.is_on
    return show(request, "sign_in", status=status, next=next, code=code, name=name, fault=fault, sso=sso)


@router.post("/sign-out")
def sign_out(request: Request, services: WithServices) -> Response:
    """End this session."""
    services.accounts.sign_out(visitors.session_of(request) or "")
    response = go(f"{visitors.PATH}/sign-in")
    visitors.drop_session(request, response)
    return response


@open_router.post("/language")
def choose_language(request: Request, form: Form) -> Response:
    """Store the chosen language in a cookie."""
    visitors.check_own_page(request)
    response = go(own_path(form.text("next")))
    if form.text("language") in NAMES:
        visitors.keep_cookie(
            request, response, COOKIE, form.text("language"), seconds=visitors.YEAR_S, samesite="lax"
        )
    return response


@router.get("/account")
def account_page(request: Request, services: WithServices) -> Response:
    """Show the user's own account."""
    has_password = services.accounts.has_password(request.state.account.name)
    return show(request, "account", faults={}, has_password=has_password)


@router.post("/account/password")
def change_password(request: Request, services: WithServices, form: Form) -> Response:
    """Change the user's own password, end all their sessions, and begin a new one."""
    account, status = request.state.account, 422
    faults: dict[str, str] = {}
    has_password = services.accounts.has_password(account.name)
    if has_password:
        tries: Tries = request.app.state.tries
        address = source_of(visitors.client_of(request))
        own = f"account {account.id}"
        if wait := tries.begin(address, account.name, own):
            raise Problem(429, "Too many tries", why=AccessRefusal.TOO_MANY_TRIES(seconds=wait))
        try:
            is_wrong = not services.accounts.proves(account.name, form.raw("before"))
        except TooBusy as busy:
            is_wrong, faults["before"], status = False, str(busy), 503
        except SQLAlchemyError:
            tries.take_back(address, account.name, own)
            raise
        if is_wrong:
            faults["before"] = said("Wrong password.")
        else:
            tries.take_back(address, account.name, own)
    elif request.app.state.sso.is_on:
        faults["password"] = said(
            "You sign in with your organisation's account. Only an administrator can give you a password."
        )
    if form.raw("password") != form.raw("again"):
        faults["again"] = said("The passwords do not match.")
    if not faults:
        try:
            services.accounts.set_password(account.name, form.raw("password"))
        except AccountRefused as refused:
            faults["password"] = str(refused)
    if faults:
        return show(request, "account", status=status, faults=faults, has_password=has_password)
    response = go(f"{visitors.PATH}/account", "password")
    session = services.accounts.start_session(account.name)
    visitors.keep_session(request, response, session, services.accounts.device_of(session))
    return response


@router.post("/account/sign-out")
def sign_out_everywhere(request: Request, services: WithServices) -> Response:
    """End all of the user's own sessions."""
    services.accounts.sign_out_everywhere(request.state.account.name)
    response = go(f"{visitors.PATH}/sign-in")
    visitors.drop_session(request, response)
    return response
