"""OpenAPI's description of the producer's requests and responses, including those that FastAPI cannot know."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse

from producer.http.problems import refusals, schemas_of
from producer.intake.deliveries import MOST_EVENTS
from shared.events.event import Deletion, Event
from shared.notices.kinds import Kind

KINDS = (Event, Deletion)
EVENT = {"anyOf": [{"$ref": f"#/components/schemas/{one.__name__}"} for one in KINDS]}


class AcceptedEvent(BaseModel):
    """An event in the journal; `duplicate` is true if it was already there."""

    model_config = ConfigDict(extra="forbid")

    event_id: int
    key: Annotated[str, Field(pattern=f"^({'|'.join(Kind)}):[0-9]+$")]
    duplicate: bool


class AcceptedEvents(BaseModel):
    """The events of a request, in the order of the request."""

    model_config = ConfigDict(extra="forbid")

    accepted: list[AcceptedEvent]


class Readiness(BaseModel):
    """Whether the database and the broker answer; only the database is required."""

    model_config = ConfigDict(extra="forbid")

    database: Literal["ok", "unreachable"]
    broker: Literal["ok", "unreachable"]


SIGNED = {
    "webhook-id": "The id of the delivery. A repeated delivery with the same id and body has no effect.",
    "webhook-timestamp": "Seconds since the epoch, within five minutes of the producer's clock.",
    "webhook-signature": "v1,<base64 of the HMAC-SHA256 of id.timestamp.body> (Standard Webhooks).",
    "deskbridge-spool": "Optional: waiting=N, parked=N, parked-tickets=N N …: how many events the sender "
    "has queued, how many of its events deskbridge rejected, and the ids of their tickets.",
}


DOCUMENTED: dict[str, dict[str, Any]] = {
    "events": {
        "status_code": 202,
        "responses": {
            202: {
                "description": "Committed to the journal. An empty array tests the URL and the secret.",
                "model": AcceptedEvents,
            },
            **refusals(400, 401, 408, 413, 415, 422, 429, 503),
        },
        "openapi_extra": {
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {
                            "oneOf": [
                                EVENT,
                                {"type": "array", "items": EVENT, "maxItems": MOST_EVENTS},
                            ]
                        }
                    }
                },
            },
            "parameters": [
                {"name": name, "in": "header", "description": meaning, "schema": {"type": "string"}}
                for name, meaning in SIGNED.items()
            ],
        },
    },
    "readyz": {
        "responses": {
            200: {"description": "The journal is writable.", "model": Readiness},
            503: {"description": "The journal is not writable.", "model": Readiness},
        }
    },
    "metrics": {"response_class": PlainTextResponse},
}


def schemas() -> dict[str, Any]:
    """Return the events' schemas, which no route declares: no body is parsed before its signature is checked."""
    return schemas_of(*KINDS)
