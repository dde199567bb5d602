"""The variable catalogue (SPEC 9.1, "FROM" palette), generated from the contexts' types."""

from __future__ import annotations

import difflib
import functools
import hashlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from shared.codes.templates import Flaw, Sort
from shared.templating.contexts import context_type, part_of
from shared.templating.operations import CustomField, Operation
from shared.templating.values import Fault, Json

ValueType = Literal["text", "integer", "boolean", "list", "map", "object", "any"]
SORTS: Mapping[ValueType, Sort] = {
    "text": Sort.A_TEXT,
    "integer": Sort.AN_INTEGER,
    "boolean": Sort.A_BOOLEAN,
    "list": Sort.A_LIST,
    "map": Sort.A_MAP,
    "object": Sort.AN_OBJECT,
}
_KINDS: dict[type, ValueType] = {str: "text", int: "integer", bool: "boolean", list: "list", dict: "map"}


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, as it is shown to people.

    Attributes:
        path: as it is written in a tag.
        type: text, integer, boolean, list, map or object.
        description: what it holds.
        sample: a value for previews.
        optional: whether it may be null.
    """

    path: str
    type: ValueType
    description: str
    sample: Json
    optional: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """What a path leads to: its kind, the parts of an object, what lists and maps hold."""

    kind: ValueType
    parts: Mapping[str, Shape] = field(default_factory=dict)
    item: Shape | None = None


ANY = Shape("any")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The variables of one operation.

    Attributes:
        operation: what the templates are for.
        variables: in the order in which people are shown them.
        root: the same as a tree.
        version: changes whenever the variables do; compiled templates are kept per version.
    """

    operation: Operation
    variables: tuple[Variable, ...]
    root: Shape
    version: str

    def shape_of(self, segments: tuple[str, ...]) -> Shape:
        """Return what a path leads to.

        Raises:
            Fault: there is no such variable; the text names the nearest one.
        """
        shape, known = self.root, ""
        for segment in segments:
            shape = step(shape, segment, known, lambda: self._nearest(segments))
            known = f"{known}.{segment}" if known else segment
        return shape

    def _nearest(self, segments: tuple[str, ...]) -> str | None:
        near = difflib.get_close_matches(".".join(segments)[:100], [one.path for one in self.variables], n=1)
        return near[0] if near else None


def step(shape: Shape, segment: str, known: str, hint: Callable[[], str | None] = lambda: None) -> Shape:
    """Return what one more segment of a path leads to.

    Raises:
        Fault: nothing.
    """
    if shape.kind == "object" and segment in shape.parts:
        return shape.parts[segment]
    if shape.kind == "map" or (shape.kind == "list" and segment.isdigit()):
        return shape.item or ANY
    if shape.kind in ("object", "any"):
        raise Fault(Flaw.VARIABLE_NOT_KNOWN(nearest=hint()))
    raise Fault(Flaw.VARIABLE_WITHOUT_PARTS(name=known, kind=SORTS[shape.kind]()))


@functools.lru_cache(maxsize=64)
def catalogue_for(operation: Operation | str, custom_fields: tuple[CustomField, ...] = ()) -> Catalogue:
    """Return the catalogue of an operation.

    Args:
        operation: one of OPERATIONS.
        custom_fields: the tracker's, from the metadata cache; a new project's form fills those of projects.

    Raises:
        ValueError: there is no such operation.
    """
    operation = Operation(operation)
    variables: list[Variable] = []
    root = _walk(context_type(operation), "", variables)
    if operation.from_form:
        variables += [
            Variable(f"form.custom_field_values.{one.id}", "text", f"Custom field {one.name}",
                     next(iter(one.possible_values), "sample"), optional=True)
            for one in custom_fields if one.belongs_to(operation)
        ]  # fmt: skip
    described = repr([operation.value, *((one.path, one.type, one.optional) for one in variables)])
    version = hashlib.sha256(described.encode()).hexdigest()[:16]
    return Catalogue(operation, tuple(variables), root, version)


def _walk(model: type[BaseModel], prefix: str, variables: list[Variable]) -> Shape:
    parts = {}
    for name, info in model.model_fields.items():
        path, part = f"{prefix}{name}", part_of(info.annotation)
        if part:
            if info.description:
                variables.append(Variable(path, "object", info.description, None, optional=True))
            parts[name] = _walk(part, f"{path}.", variables)
            continue
        shape, optional = _shape(info.annotation)
        sample = (info.examples or [None])[0]
        variables.append(Variable(path, shape.kind, info.description or "", sample, optional))
        parts[name] = shape
    return Shape("object", parts)


def _shape(annotation: Any) -> tuple[Shape, bool]:
    """Return the shape of a plain value's annotation, and whether it may be null."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [one for one in get_args(annotation) if one is not type(None)]
        return _shape(inner[0])[0], True
    origin = get_origin(annotation) or annotation
    if issubclass(origin, BaseModel):
        return _walk(origin, "", []), False
    arguments = get_args(annotation)
    return Shape(_KINDS[origin], item=_shape(arguments[-1])[0] if arguments else None), False
