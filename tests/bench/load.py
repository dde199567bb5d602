"""The helpdesk: several keep-alive connections that post signed requests as fast as they are answered."""

from __future__ import annotations

import http.client
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from deploy.embedded.ports import HOST
from tests.bench.errors import BrokenRun
from tests.bench.workload import Delivery

CONNECTIONS = 32


@dataclass(frozen=True)
class Posted:
    """What came of posting.

    Attributes:
        events: how many were accepted (202).
        seconds: from the first request to the last answer.
        waited: seconds that each request took.
    """

    events: int
    seconds: float
    waited: list[float]

    @property
    def rate(self) -> float:
        """Events accepted per second."""
        return self.events / self.seconds

    @property
    def p99_ms(self) -> float:
        """Milliseconds within which 99 of 100 requests were answered."""
        return sorted(self.waited)[len(self.waited) * 99 // 100] * 1000


def post(port: int, deliveries: Sequence[Delivery], *, seconds: float = 60) -> Posted:
    """Post deliveries over 32 connections until all are accepted or the time is over.

    Args:
        port: of the producer.
        deliveries: made beforehand, so that signing them costs nothing here.
        seconds: no request is begun after so many.

    Raises:
        BrokenRun: an answer was not 202.
    """
    waiting = deque(deliveries)
    accepted: list[int] = []
    waited: list[float] = []
    failures: list[str] = []
    deadline = time.monotonic() + seconds

    def work() -> None:
        connection = http.client.HTTPConnection(HOST, port, timeout=30)
        try:
            while waiting and time.monotonic() < deadline and not failures:
                began = time.monotonic()
                accepted.append(_post(connection, waiting.popleft()))
                waited.append(time.monotonic() - began)
        except IndexError:  # another connection took the last one
            pass
        except (OSError, BrokenRun, http.client.HTTPException) as error:
            failures.append(f"{type(error).__name__}: {error}")
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise BrokenRun(f"not accepted: {failures[0]}")
    return Posted(sum(accepted), time.monotonic() - started, waited)


def _post(connection: http.client.HTTPConnection, delivery: Delivery) -> int:
    connection.request("POST", "/events", delivery.body, delivery.headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 202:
        raise BrokenRun(f"status {answer.status}: {content[:300]!r}")
    return delivery.events
