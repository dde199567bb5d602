"""Sign-in by an OpenID provider."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from producer.admin.access.accounts import AccountRefused
from producer.admin.access.passwords import TooBusy
from producer.console.auth import visitors
from producer.console.auth.answers import WithServices
from producer.console.auth.oidc import LASTS_S, ProviderFailed, SignOnRefused, SingleSignOn
from producer.console.pages.parts import go
from producer.console.pages.sign_in import Tries, sign_in_form, too_many
from producer.console.rendering.addresses import own_path
from producer.http.sources import source_of
from shared.notices.access import AccessRefusal
from shared.notices.language import said
from shared.telemetry.logs import get_logger, reason_fields

log = get_logger("console")
PATH = f"{visitors.SIGN_IN}/sso"
COOKIE = "deskbridge_sso"

open_router = APIRouter(prefix=visitors.PATH, include_in_schema=False)


@open_router.get("/sign-in/sso")
def begin(request: Request, next: str = "") -> Response:
    """Redirect to the provider; by GET, since the pages' policy forbids forms that lead to other sites."""
    sso, wanted = _sso(request), own_path(next)
    if refusal := _counted(request, wanted):
        return refusal
    try:
        address, sealed = sso.begin(wanted)
    except TooBusy as busy:
        return _busy(request, busy, wanted)
    except ProviderFailed as failed:
        return _failed(request, failed, wanted)
    _take_back(request)
    response = go(address)
    visitors.keep_cookie(request, response, COOKIE, sealed, path=PATH, seconds=LASTS_S, samesite="lax")
    return response


@open_router.get("/sign-in/sso/callback")
def end(request: Request, services: WithServices) -> Response:
    """Begin the session of a user that the provider has signed in."""
    sso = _sso(request)
    if refusal := _counted(request, visitors.PATH):
        return refusal
    try:
        person, wanted = sso.end(request.cookies.get(COOKIE, ""), dict(request.query_params))
        session = services.accounts.sign_in_known(
            person.name, person.right, add=services.settings.oidc_makes_accounts
        )
    except TooBusy as busy:
        return _busy(request, busy, visitors.PATH)
    except ProviderFailed as failed:
        return _failed(request, failed, visitors.PATH)
    except (SignOnRefused, AccountRefused) as refused:
        log.warning("refused: single sign-on", **reason_fields(refused.notice))
        return sign_in_form(request, status=403, next=visitors.PATH, fault=str(refused))
    _take_back(request)
    if old := visitors.session_of(request):
        services.accounts.sign_out(old)
    response = go(wanted)
    response.delete_cookie(COOKIE, path=PATH, httponly=True, secure=visitors.is_secure(request))
    visitors.keep_session(request, response, session)
    return response


def _sso(request: Request) -> SingleSignOn:
    sso: SingleSignOn = request.app.state.sso
    if not sso.is_on:
        raise HTTPException(404)
    return sso


def _counted(request: Request, wanted: str) -> Response | None:
    """Count a try of an address; return a refusal if there were too many, else None."""
    tries: Tries = request.app.state.tries
    wait = tries.begin(_source(request))
    return sign_in_form(request, status=429, next=wanted, fault=too_many(wait)) if wait else None


def _take_back(request: Request) -> None:
    tries: Tries = request.app.state.tries
    tries.take_back(_source(request))


def _source(request: Request) -> str:
    return source_of(visitors.client_of(request))


def _busy(request: Request, busy: TooBusy, wanted: str) -> Response:
    _take_back(request)
    return sign_in_form(request, status=503, next=wanted, fault=str(busy))


def _failed(request: Request, failed: ProviderFailed, wanted: str) -> Response:
    log.error("the OpenID provider failed", **reason_fields(failed.notice))
    fault = (
        said("Cannot reach your identity provider at the moment. Try again.")
        if failed.notice.code == AccessRefusal.PROVIDER_UNREACHABLE
        else said(
            "Your identity provider sent an unexpected response. Try again, and tell an administrator if this persists."
        )
    )
    return sign_in_form(request, status=502, next=wanted, fault=fault)
