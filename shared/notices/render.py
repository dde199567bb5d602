"""Renders notices as sentences, in English or the language of the reader.

Nothing that is stored, compared or counted may depend on these sentences.
"""

from __future__ import annotations

from shared.notices import (  # noqa: F401 (a stored code may be any of theirs)
    access,
    authors,
    cautions,
    changes,
    deliveries,
    doctor_helpdesk,
    doctor_service,
    doctor_setup,
    doctor_tracker,
    doctor_work,
    faults,
    hints,
    invalid,
    limits,
    notifications,
    reasons,
    refusals,
    steps,
    system_refusals,
    templates,
    trial,
)
from shared.notices.language import counted, said
from shared.notices.naming import named
from shared.notices.notice import CODES, Notice, Plural, Sentence, to_json
from shared.notices.template import PLACEHOLDER, fill


def sentence(notice: Notice) -> str:
    """Return the sentence of a notice; if this version does not know the code, the code and its parameters."""
    code = CODES.get(notice.code)
    text = _said(code.text, notice) if code else None
    return _bare(notice) if text is None else text


def because(notice: Notice) -> str:
    """Return the second sentence of a code (why it was done, or what to do about it); empty if it has none."""
    code = CODES.get(notice.code)
    return (_said(code.why, notice) or "") if code and code.why else ""


def article(code: str) -> str:
    """Return the id of the article that explains a code; empty if there is none."""
    return CODES[code].article if code in CODES else ""


def pattern(code: str) -> tuple[str, str]:
    """Return both sentences of a code with a gap for each parameter; empty texts if the code is unknown."""
    return (_gaps(CODES[code].text), _gaps(CODES[code].why)) if code in CODES else ("", "")


def _gaps(template: Sentence) -> str:
    text = said(template.many if isinstance(template, Plural) else template) if template else ""
    return PLACEHOLDER.sub("…", text.replace("[", "").replace("]", ""))


def _said(template: Sentence, notice: Notice) -> str | None:
    try:
        return fill(_translated(template, notice), named(notice.params), sentence)
    except (LookupError, TypeError, ValueError):  # parameters of another version
        return None


def _translated(template: Sentence, notice: Notice) -> str:
    if isinstance(template, Plural):
        return counted(template.one, template.many, notice.params["count"])
    return said(template)


def _bare(notice: Notice) -> str:
    told = ", ".join(f"{name}={value}" for name, value in to_json(notice.params).items())
    return f"{notice.code} ({told})" if told else str(notice.code)
