"""Rights on one scale, on which a higher right covers the lower ones."""

from __future__ import annotations

from enum import StrEnum


class Right(StrEnum):
    """What an account or a token may do.

    A token for links may read what a help desk shows of links and tickets, and nothing else.
    """

    LINKS = "links"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"

    def covers(self, needed: Right) -> bool:
        """Return whether this right is enough where another one is needed."""
        scale = list(Right)
        return scale.index(self) >= scale.index(needed)


OF_ACCOUNTS = (Right.VIEWER, Right.OPERATOR, Right.ADMINISTRATOR)
