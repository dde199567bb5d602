"""Small helpers: render one tag or get one fault; how long hypothesis searches."""

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
"""Small and fast; HYPOTHESIS_PROFILE=long for a thorough search, of about eight minutes."""

PATIENTLY = pytest.mark.timeout(max(300, PROFILE.max_examples // 10))
"""A thorough search may take longer than any other test."""


def still() -> float:
    """A clock that stands still, where a result is expected: a long search's memory is not cleared in 0.5 s."""
    return 0.0


ISSUE = Engine(catalogue_for(Operation.ISSUE_CREATE))
WATCHERS = "config.default_watcher_ids"


def context(operation: Operation = Operation.ISSUE_CREATE, **changes: Any) -> dict[str, Any]:
    """Return the sample context with changes by path, dots written as double underscores."""
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
    """Return what became of the field `x`; None where it was pruned."""
    return render(value, **changes).payload["issue"].get("x")


def fault(template: str, engine: Engine = ISSUE, **changes: Any) -> TemplateError:
    """Return the error of a template that cannot be rendered."""
    with pytest.raises(TemplateError) as caught:
        engine.render(template, context(**changes))
    return caught.value
