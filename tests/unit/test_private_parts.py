"""The private parts of libraries that deskbridge uses exist in the minor versions to which the libraries are pinned.

Before you raise a pin, run this test on the new version: it names the missing parts. Other tests check that the
parts work (slow and ambiguous requests, HTML to text).
"""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import celery.apps.beat
import celery.apps.worker
import pytest
from httptools import HttpRequestParser
from inscriptis.html_properties import Display
from inscriptis.model.canvas import Canvas
from inscriptis.model.config import ParserConfig
from inscriptis.model.html_document_state import HtmlDocumentState
from inscriptis.model.html_element import HtmlElement
from kombu.transport import TRANSPORT_ALIASES, redis, virtual
from sqlalchemy import Connection, create_engine
from uvicorn import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from shared.queue import transport
from shared.queue.transport import CheckedMessage

PINNED = ("aiohttp", "celery", "httptools", "inscriptis", "kombu", "uvicorn")


def parts_of_uvicorn() -> dict[str, object]:
    async def made() -> HttpToolsProtocol:
        config = Config(app=lambda: None)
        config.load()
        return HttpToolsProtocol(config, ServerState(), {})

    protocol: Any = asyncio.run(made())
    cycle = inspect.getsource(RequestResponseCycle)
    return {
        "timeout_keep_alive_task, timeout_keep_alive": protocol.timeout_keep_alive_task is None
        and protocol.timeout_keep_alive > 0,
        "timeout_keep_alive_handler, _unset_keepalive_if_required, send_400_response": all(
            map(
                callable,
                (
                    protocol.timeout_keep_alive_handler,
                    protocol._unset_keepalive_if_required,
                    protocol.send_400_response,
                ),
            )
        ),
        "parser, which calls the protocol": isinstance(protocol.parser, HttpRequestParser),
        "transport, set by connection_made": "self.transport"
        in inspect.getsource(HttpToolsProtocol.connection_made),
        "url, headers, set by on_message_begin": all(
            one in inspect.getsource(HttpToolsProtocol.on_message_begin)
            for one in ('self.url = b""', "self.headers = []")
        ),
        "client, cycle, flow, headers": [protocol.client, protocol.cycle, protocol.flow, protocol.headers]
        == [None] * 4,
        "flow.write_paused": FlowControl(transport=None).write_paused is False,  # type: ignore[arg-type]
        "cycle.response_started, cycle.response_complete": all(
            f"self.response_{what} = False" in cycle for what in ("started", "complete")
        ),
        "cycle.keep_alive, cycle.scope": "not self.keep_alive" in cycle and "self.scope = scope" in cycle,
        "loop": hasattr(protocol, "loop"),
        "on_response_complete": callable(protocol.on_response_complete),
    }


def parts_of_inscriptis() -> dict[str, object]:
    config: Any = ParserConfig()
    state: Any = HtmlDocumentState(config)
    element, canvas = HtmlElement(), Canvas()
    return {
        "attribute_handler.attribute_mapping": isinstance(config.attribute_handler.attribute_mapping, dict),
        "li_counter, link_target, current_table, tags": (
            state.li_counter,
            state.link_target,
            state.current_table,
        )
        == ([], "", [])
        and len(state.tags) == 1,
        "display, whitespace": element.display is Display.inline and hasattr(element, "whitespace"),
        "set_canvas, which returns the element": element.set_canvas(canvas) is element
        and element.canvas is canvas,
        "write": callable(element.write),
        "flush_inline, write, get_text of a canvas": all(
            map(callable, (canvas.flush_inline, canvas.write, canvas.get_text))
        ),
    }


def parts_of_celery() -> dict[str, object]:
    """Return the parts that log a worker's last messages and end beat at once, even while it waits for the broker."""
    worker = inspect.getsource(celery.apps.worker)
    return {
        "safe_say, called with a text": next(iter(inspect.signature(celery.apps.worker.safe_say).parameters))
        == "msg"
        and "safe_say(f'worker: {how} shutdown" in worker,
        "install_sync_handler, called with the service": list(
            inspect.signature(celery.apps.beat.Beat.install_sync_handler).parameters
        )
        == ["self", "service"]
        and "self.install_sync_handler(service)" in inspect.getsource(celery.apps.beat.Beat.start_scheduler),
    }


def parts_of_kombu() -> dict[str, object]:
    """Return the parts that check messages from Redis, which anyone may have written, before Celery reads them."""
    return {
        "Message of a channel, made of what Redis holds": issubclass(CheckedMessage, virtual.Message)
        and "Message" in vars(virtual.Channel),
        "ack_emulation, without which Redis knows nothing of what a worker has taken": "ack_emulation"
        in redis.Channel.from_transport_options
        and "self.QoS = virtual.QoS" in inspect.getsource(redis.Channel.__init__),
        "do_restore, without which nothing is put back, or dumped into a file": "do_restore"
        in vars(virtual.Channel)
        and "not self.channel.do_restore" in inspect.getsource(virtual.QoS.restore_unacked_once),
        "_brpop_read, in which a message is read and delivered": "_deliver(loads("
        in inspect.getsource(redis.Channel._brpop_read)
        and "'BRPOP': self._brpop_read" in inspect.getsource(redis.Channel.__init__),
        "TRANSPORT_ALIASES, by which the scheme of an address names a transport": TRANSPORT_ALIASES["redis"]
        == f"{transport.__name__}:Transport"
        or TRANSPORT_ALIASES["redis"] == "kombu.transport.redis:Transport",
    }


def parts_of_sqlalchemy() -> dict[str, object]:
    """Return the used private parts by name, with True for each that exists."""
    return {
        "_handle_dbapi_exception, which raises an error of the driver's as SQLAlchemy's": list(
            inspect.signature(Connection._handle_dbapi_exception).parameters
        )[1:6]
        == ["e", "statement", "parameters", "cursor", "context"],
        "dispatch, which names whoever listens": list(
            create_engine("sqlite://").dispatch.before_cursor_execute
        )
        == [],
    }


@pytest.mark.parametrize(
    "parts",
    [parts_of_uvicorn, parts_of_inscriptis, parts_of_celery, parts_of_kombu, parts_of_sqlalchemy],
)
def test_the_private_parts_that_we_use_are_there(parts: Any) -> None:
    gone = [name for name, there in parts().items() if not there]
    assert gone == []


@pytest.mark.parametrize("name", PINNED)
def test_a_library_of_which_we_use_private_parts_is_pinned_to_the_minor_version_that_is_tested(
    name: str,
) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    major, minor = version(name).split(".")[:2]
    pinned = f">={major}.{minor},<{major}.{int(minor) + 1}"
    assert {f"{name}{pinned}", f"{name}[redis]{pinned}"} & set(project["dependencies"])
