"""The peer's endpoint: verify, validate, `delay`, 202. `python -m tests.bench.peer.api PORT`."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from pydantic import ValidationError
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.concurrency import run_in_threadpool

from tests.bench.peer.events import Event, events
from tests.bench.peer.tasks import config, forward

app = FastAPI()
webhook = Webhook(config.webhook_secret)


@app.post("/events", status_code=202)
async def receive(request: Request) -> dict[str, Any]:
    """Accept one event or an array of events."""
    body = await request.body()
    try:
        webhook.verify(body, dict(request.headers), json_parse=False)
        parsed = events.validate_json(body)
    except WebhookVerificationError as error:
        raise HTTPException(401, str(error)) from None
    except ValidationError as error:
        raise HTTPException(422, error.errors(include_url=False, include_context=False)) from None
    accepted = parsed if isinstance(parsed, list) else [parsed]
    await run_in_threadpool(_delay, accepted)
    return {"accepted": len(accepted)}


@app.get("/healthz")
async def healthz() -> dict[str, str]:
    """Report that the process is up."""
    return {"status": "ok"}


def _delay(accepted: list[Event]) -> None:
    for event in accepted:
        forward.delay(event.model_dump(mode="json"))


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False)
