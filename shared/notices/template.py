"""The grammar of sentences: plain texts with named placeholders, as translators know them.

`{name}`       the parameter; a nested notice as its own sentence, a list joined by commas
`{name:spec}`  a number formatted as Python does (`{hours:.2f}`); a list joined by another separator (`{errors:; }`);
               `{kind:noun}`: the tracker's name for the object of a kind, such as an issue for a ticket;
               `{kind:word}`: a word that programs use, such as `entity` or `in_doubt`, as people know it
`[…]`          left out if a parameter in it is missing or empty
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from shared.notices.kinds import Kind
from shared.notices.language import numeral, said
from shared.notices.notice import Notice, Plural, Sentence

PLACEHOLDER = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
OPTIONAL = re.compile(r"(\[[^\[\]]*\])")
Say = Callable[[Notice], str]


Piece = tuple[str, str, str]
"""A text, and the parameter after it: its name, empty at the end, and its format."""


def fill(sentence: Sentence, params: Mapping[str, Any], say: Say) -> str:
    """Return a sentence with its parameters in their places.

    Args:
        sentence: the template.
        params: by name.
        say: returns the sentence of a nested notice.

    Raises:
        LookupError, TypeError, ValueError: if a parameter is missing, or its format does not fit its value.
    """
    if isinstance(sentence, Plural):
        sentence = sentence.one if params["count"] == 1 else sentence.many
    filled = []
    for needed, pieces in _pieces(sentence):
        if all(params.get(name) not in (None, "", [], ()) for name in needed):
            for text, name, spec in pieces:
                filled.append(text)
                if name:
                    filled.append(_word(params[name], spec, say))
    return "".join(filled)


def names(sentence: Sentence) -> tuple[set[str], set[str]]:
    """Return the required and the optional parameters of a sentence."""
    texts = [sentence.one, sentence.many] if isinstance(sentence, Plural) else [sentence]
    needed, optional = set[str](), set[str]()
    for part in (part for text in texts for part in _parts(text)):
        found = {name for name, _ in PLACEHOLDER.findall(part)}
        needed, optional = (needed, optional | found) if part.startswith("[") else (needed | found, optional)
    return needed | ({"count"} if isinstance(sentence, Plural) else set()), optional - needed


@lru_cache(maxsize=1024)
def _parts(text: str) -> list[str]:
    return [part for part in OPTIONAL.split(text) if part]


@lru_cache(maxsize=1024)
def _pieces(sentence: str) -> list[tuple[list[str], list[Piece]]]:
    """Return for each part the parameters without which it is left out, and its pieces."""
    found = []
    for part in _parts(sentence):
        is_optional = part.startswith("[")
        texts = [*PLACEHOLDER.split(part[1:-1] if is_optional else part), "", ""]
        pieces = [(texts[at], texts[at + 1], texts[at + 2] or "") for at in range(0, len(texts), 3)]
        found.append(([name for _, name, _ in pieces if name] if is_optional else [], pieces))
    return found


def _word(value: Any, spec: str, say: Say) -> str:
    if isinstance(value, Notice):
        return say(value)
    if isinstance(value, (list, tuple)):
        return (spec or ", ").join(_word(one, "", say) for one in value)
    if spec == "noun":
        return said(Kind(value).noun)
    if spec == "word":
        return said(str(value).replace("_", " "))
    return numeral(format(value, spec)) if spec else str(value)
