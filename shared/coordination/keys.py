"""What every key of ours in Redis begins with, and what may stand there in its place."""

from __future__ import annotations

from redis.exceptions import ResponseError

OURS = "deskbridge:"


def is_of_another_type(error: ResponseError) -> bool:
    """Tell whether a key holds what no process of ours writes: Redis refuses a command for other reasons, too.

    Args:
        error: what a command for the key was answered.
    """
    return str(error).startswith("WRONGTYPE")
