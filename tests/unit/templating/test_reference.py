"""In the part of the language that both support, templates render as in pybars3, the reference.

pybars3 executes templates as code, so it gets only templates that this test generates. It does not support
`{{else}}` in `{{#unless}}`, so other tests cover that branch.
"""

from __future__ import annotations

import sys
from typing import Any

from hypothesis import event as seen
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.templating.support import PATIENTLY, PROFILE, context, one

pytestmark = PATIENTLY

VARIABLES = st.sampled_from(["ticket.title", "ticket.content", "ticket.id", "project.default_category_id"])
TEXT = st.text(alphabet="ab 1<>&'.,#/-é😀", max_size=8)


def tag_of(path: str) -> str:
    return f"{{{{{{{path}}}}}}}"


def block_of(name: str, path: str, body: str, otherwise: str | None) -> str:
    inverse = "" if otherwise is None else f"{{{{else}}}}{otherwise}"
    return f"{{{{#{name} {path}}}}}{body}{inverse}{{{{/{name}}}}}"


def templates(variables: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return a strategy for texts with tags and nested conditions on some variables."""

    def conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        condition = st.builds(block_of, st.just("if"), variables, inner, st.none() | inner)
        without_else = st.builds(block_of, st.just("unless"), variables, inner, st.none())
        return st.lists(TEXT | condition | without_else, max_size=3).map("".join)

    return st.recursive(TEXT | variables.map(tag_of), conditions, max_leaves=6)


LOOPS = st.builds(
    block_of,
    st.just("each"),
    st.just("config.default_watcher_ids"),
    templates(st.just("this")),
    st.none() | templates(VARIABLES),
)
TEMPLATES = st.lists(templates(VARIABLES) | LOOPS, max_size=4).map("".join)


def by_pybars(template: str, data: Any) -> str:
    from pybars import Compiler  # not at the top, because pybars takes half a second to import

    render = Compiler().compile(template)
    sys.modules.pop(render.__module__, None)
    return str(render(data))


@PROFILE
@given(
    TEMPLATES,
    TEXT,
    st.none() | TEXT,
    st.none() | st.integers(0, 9),
    st.lists(st.integers(0, 9), max_size=3),
)
@example(
    "{{#each config.default_watcher_ids}}{{#if this}}{{{this}}},{{/if}}{{else}}-{{/each}}", "", "", 0, [0, 5]
)
@example("{{#unless ticket.content}}{{{ticket.title}}}{{/unless}}", "<b>", None, None, [])
def test_a_template_of_the_shared_language_renders_as_the_reference_does(
    template: str, title: str, content: str | None, category: int | None, watchers: list[int]
) -> None:
    changes: dict[str, Any] = {
        "ticket__title": title,
        "ticket__content": content,
        "project__default_category_id": category,
        "config__default_watcher_ids": watchers,
    }
    seen("with a block" if "{{#" in template else "without a block")
    text = f"[{template}]"
    assert one(text, **changes) == by_pybars(text, context(**changes))
