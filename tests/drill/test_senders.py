"""Who may be the author of a note on the tracker: a note makes nobody a member."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.drill.expect import Note
from tests.drill.oracle import _meets


@pytest.mark.parametrize(
    ("project", "login", "is_right"),
    [("support", "tech0000", True), ("support", "alice", False), ("support-child", "alice", True)],
)
def test_the_api_user_may_send_a_note_only_for_who_is_no_member_from_the_start(
    project: str, login: str, is_right: bool
) -> None:
    wanted = Note("Hello", login, is_private=False)
    assert _meets(wanted, replace(wanted, author="admin"), {"project": project}) is is_right
