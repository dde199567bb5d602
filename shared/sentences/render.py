"""Says what a code means, in English or the language of whoever reads it.

Nothing that is stored, compared or counted may depend on what comes out.
"""

from __future__ import annotations

from shared.codes.notice import Notice, Written, to_json
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


def sentence(notice: Notice) -> str:
    """Return what happened, or why, as a sentence; of a code that this version does not know the code itself."""
    text = _said(WHAT, notice)
    return _bare(notice) if text is None else text


def because(notice: Notice) -> str:
    """Return the second sentence that some codes have: why it was done, or what to do about it; else nothing."""
    return _said(WHY, notice) or ""


def pattern(code: str) -> tuple[str, str]:
    """Return both sentences of a code with a gap for each parameter; empty texts for a code that there is not."""
    return _gaps(WHAT.get(code, "")), _gaps(WHY.get(code, ""))


def _gaps(template: Sentence) -> str:
    text = said(template.many if isinstance(template, Plural) else template) if template else ""
    return PLACEHOLDER.sub("…", text.replace("[", "").replace("]", ""))


def _said(table: Table, notice: Notice) -> str | None:
    template = table.get(notice.code)
    if template is None:
        return None
    try:
        return fill(_translated(template, notice), notice.params, sentence)
    except (LookupError, TypeError, ValueError):  # parameters of another version
        return None


def _translated(template: Sentence, notice: Notice) -> str:
    if isinstance(template, Plural):
        return counted(template.one, template.many, notice.params["count"])
    return said(template)


def _bare(notice: Notice) -> str:
    told = ", ".join(f"{name}={value}" for name, value in to_json(notice.params).items())
    return f"{notice.code} ({told})" if told else str(notice.code)
