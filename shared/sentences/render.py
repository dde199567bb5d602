"""Says what a code means, in English or the language of whoever reads it.

Nothing that is stored, compared or counted may depend on what comes out.
"""

from __future__ import annotations

from shared.codes.coded import Coded, Written, to_json
from shared.sentences import (
    authors,
    cautions,
    changes,
    deliveries,
    faults,
    findings,
    hints,
    invalid,
    limits,
    reasons,
    refusals,
    steps,
    templates,
)
from shared.sentences.language import counted, said
from shared.sentences.template import PLACEHOLDER, Plural, Sentence, Table, fill

WHAT: Table = {
    Written.AS_WRITTEN: "{text}",
    **reasons.SENTENCES,
    **authors.SENTENCES,
    **steps.SENTENCES,
    **faults.SENTENCES,
    **hints.SENTENCES,
    **findings.SENTENCES,
    **refusals.SENTENCES,
    **changes.SENTENCES,
    **deliveries.SENTENCES,
    **limits.SENTENCES,
    **invalid.SENTENCES,
    **cautions.SENTENCES,
    **templates.SENTENCES,
}
WHY: Table = {
    Written.AS_WRITTEN: "[{why}]",
    **authors.WHY,
    **steps.WHY,
    **faults.WHY,
    **hints.WHY,
    **findings.WHY,
    **refusals.WHY,
    **deliveries.WHY,
}


def sentence(coded: Coded) -> str:
    """Return what happened, or why, as a sentence; of a code that this version does not know the code itself."""
    text = _said(WHAT, coded)
    return _bare(coded) if text is None else text


def because(coded: Coded) -> str:
    """Return the second sentence that some codes have: why it was done, or what to do about it; else nothing."""
    return _said(WHY, coded) or ""


def pattern(code: str) -> tuple[str, str]:
    """Return both sentences of a code with a gap for each parameter; empty texts for a code that there is not."""
    return _gaps(WHAT.get(code, "")), _gaps(WHY.get(code, ""))


def _gaps(template: Sentence) -> str:
    text = said(template.many if isinstance(template, Plural) else template) if template else ""
    return PLACEHOLDER.sub("…", text.replace("[", "").replace("]", ""))


def _said(table: Table, coded: Coded) -> str | None:
    template = table.get(coded.code)
    if template is None:
        return None
    try:
        return fill(_translated(template, coded), coded.params, sentence)
    except (LookupError, TypeError, ValueError):  # parameters of another version
        return None


def _translated(template: Sentence, coded: Coded) -> str:
    if isinstance(template, Plural):
        return counted(template.one, template.many, coded.params["count"])
    return said(template)


def _bare(coded: Coded) -> str:
    told = ", ".join(f"{name}={value}" for name, value in to_json(coded.params).items())
    return f"{coded.code} ({told})" if told else str(coded.code)
