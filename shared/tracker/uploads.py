"""Files that are sent to the tracker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import BinaryIO

UPLOADS = "/uploads.json"
UPLOAD_S = 60.0
"""Time limit of a call that uploads a file."""
PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as the body of a request; it is read from its start each time.

    Attributes:
        file: the file.
        size: its size in bytes.
    """

    file: BinaryIO
    size: int

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the file's content in pieces."""
        self.file.seek(0)
        while piece := self.file.read(PIECE):
            yield piece
