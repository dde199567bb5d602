"""Why no Redis answers at the address of DESKBRIDGE_REDIS_URL, in words and not as an error of a library."""

from __future__ import annotations

from redis import Redis
from redis.connection import SSLConnection
from redis.exceptions import InvalidResponse, RedisError

from shared.notices.doctor_service import ServiceFinding
from shared.notices.faults import Detail
from shared.notices.notice import Notice
from shared.process.outbound import DIRECT, why_unreachable

HANDSHAKE = "handshake"
"""In Python's words about a server that does not answer in TLS."""
HUNG_UP = ("closed by server", "reset by peer")
"""In the words of redis-py and of the system about a server that ends a new connection."""


def why_silent(redis: Redis, error: RedisError) -> Notice:
    """Return why there was no answer of Redis.

    Args:
        redis: the connection that was used.
        error: the error that was raised.
    """
    pool = redis.connection_pool
    host, port = pool.connection_kwargs.get("host"), pool.connection_kwargs.get("port", 6379)
    if not host:  # a socket, or Sentinels
        return ServiceFinding.REDIS_UNREACHABLE(error=type(error).__name__)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    why = why_unreachable(error, f"redis://{address}", DIRECT)
    if issubclass(pool.connection_class, SSLConnection) and (
        HANDSHAKE in str(error.__context__) or (why and why.code == Detail.TLS_FAILED)
    ):
        return ServiceFinding.REDIS_WITHOUT_TLS(address=address)
    if isinstance(error, InvalidResponse) or any(words in str(error) for words in HUNG_UP):
        return ServiceFinding.REDIS_NOT_THERE(address=address)
    is_of_default = getattr(redis, "is_of_default", False)
    code = ServiceFinding.REDIS_OF_DEFAULT if is_of_default else ServiceFinding.REDIS_UNREACHABLE
    return code(error=why or type(error).__name__)
