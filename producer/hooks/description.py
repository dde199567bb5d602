"""How the producer's OpenAPI describes what comes in and every answer, those included that FastAPI cannot know."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema
from starlette.responses import PlainTextResponse

from producer.hooks.intake import MOST_EVENTS
from producer.web.problems import refusals
from shared.events import Event

TEMPLATE = "#/components/schemas/{model}"
EVENT = {"$ref": TEMPLATE.format(model="Event")}
ACCEPTED = {
    "type": "object",
    "required": ["accepted"],
    "additionalProperties": False,
    "properties": {
        "accepted": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["event_id", "key", "duplicate"],
                "additionalProperties": False,
                "properties": {
                    "event_id": {"type": "integer"},
                    "key": {"type": "string", "pattern": "^ticket(-task)?:[0-9]+$"},
                    "duplicate": {"type": "boolean"},
                },
            },
        }
    },
}
READINESS = {
    "type": "object",
    "required": ["database", "broker"],
    "additionalProperties": False,
    "properties": {
        "database": {"enum": ["ok", "unreachable"]},
        "broker": {"enum": ["ok", "unreachable"], "description": "Reported, not required."},
    },
}
SIGNED = {
    "webhook-id": "The delivery's id: the same id with the same body again changes nothing.",
    "webhook-timestamp": "Seconds since the epoch, at most five minutes off.",
    "webhook-signature": "v1,<base64 of the HMAC-SHA256 of id.timestamp.body> (Standard Webhooks).",
}


def _json(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


DOCUMENTED: dict[str, dict[str, Any]] = {
    "events": {
        "status_code": 202,
        "responses": {
            202: _json(ACCEPTED, "Committed to the journal."),
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
                                {"type": "array", "items": EVENT, "minItems": 1, "maxItems": MOST_EVENTS},
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
            200: _json(READINESS, "The journal can be written."),
            503: _json(READINESS, "The journal cannot be written."),
        }
    },
    "metrics": {"response_class": PlainTextResponse},
}


def schemas() -> dict[str, Any]:
    """Return the event's schemas, which no route names: no body is parsed before its signature is checked."""
    _, found = models_json_schema([(Event, "validation")], ref_template=TEMPLATE)
    named: dict[str, Any] = found["$defs"]
    return named
