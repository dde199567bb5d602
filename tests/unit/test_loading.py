"""While a process loads its modules nothing looks for garbage, and afterwards everything does again."""

from __future__ import annotations

import gc

import pytest

from shared.loading import loading


def test_garbage_is_looked_for_again_after_loading_and_not_in_what_was_loaded() -> None:
    before = gc.get_freeze_count()
    try:
        with loading():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


def test_a_module_that_cannot_be_loaded_leaves_it_on() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError
    gc.unfreeze()
    assert gc.isenabled()
