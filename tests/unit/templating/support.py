"""Helpers that render one tag or return one fault, and how long hypothesis searches."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from shared.errors import TemplateError
from shared.templating.catalogue import catalogue_for, sample
from shared.templating.operations import Operation
from shared.templating.render import Engine, Rendering

for _name, _examples in {"quick": 60, "long": 20_000}.items():
    settings.register_profile(
        _name, max_examples=_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
PROFILE = settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
"""Few examples by default; HYPOTHESIS_PROFILE=long searches thoroughly for about eight minutes."""

PATIENTLY = pytest.mark.timeout(max(300, PROFILE.max_examples // 10))
"""A thorough search may take longer than any other test."""


def still() -> float:
    """Always return the same time, for renderings that must not run out of time during a long search."""
    return 0.0


ISSUE = Engine(catalogue_for(Operation.ISSUE_CREATE))
WATCHERS = "config.default_watcher_ids"


def context(operation: Operation = Operation.ISSUE_CREATE, **changes: Any) -> dict[str, Any]:
    """Return the sample context with changes by path; double underscores stand for dots."""
    data = sample(operation)
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = data
        for parent in parents:
            inner = inner[parent]
        inner[last] = value
    return data


def body(value: object) -> str:
    """Return an issue template whose field `x` has this value."""
    return json.dumps({"issue": {"subject": "s", "project_id": 11, "x": value}})


def render(value: object, **changes: Any) -> Rendering:
    """Render an issue template whose field `x` has this value."""
    return ISSUE.render(body(value), context(**changes))


def one(value: object, **changes: Any) -> Any:
    """Return the rendered value of the field `x`, or None if it was pruned."""
    return render(value, **changes).payload["issue"].get("x")


def fault(template: str, engine: Engine = ISSUE, **changes: Any) -> TemplateError:
    """Return the error of a template, which must not be renderable."""
    with pytest.raises(TemplateError) as caught:
        engine.render(template, context(**changes))
    return caught.value
