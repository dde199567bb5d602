"""Models of the API's answers, which `--json` also prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict

from shared.notices.notice import Notice, from_json, notice_json
from shared.notices.render import sentence

if TYPE_CHECKING:
    from shared.notices.kinds import Kind
    from shared.store.configuration import mappings, matching, metadata
    from shared.store.tables.configuration import MetadataRun
    from shared.store.tables.journal import JournalEvent
    from shared.store.tables.ledger import LedgerRow

Shape = dict[str, Any]


class Answer(BaseModel):
    """Base of the answers. An unknown member is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    printed_last: ClassVar[tuple[str, ...]] = ()
    """Members that `--json` prints last; the API keeps the order of the fields."""

    def printed(self) -> Shape:
        """Return the members in the order in which `--json` prints them."""
        names = [name for name in type(self).model_fields if name not in self.printed_last]
        return {name: getattr(self, name) for name in (*names, *self.printed_last)}


class Reasoned(Answer):
    """An answer with a reason: code and parameters for programs, a sentence for people."""

    code: str | None = None
    params: dict[str, Any] = {}

    sentence_name: ClassVar[str] = "reason"
    """The member that holds the sentence; `--json` prints code and parameters right before it."""

    @property
    def notice(self) -> Notice | None:
        """The reason; None if there is none."""
        return Notice(self.code, from_json(self.params)) if self.code else None

    def printed(self) -> Shape:
        """Return the members in the order in which `--json` prints them."""
        found = super().printed()
        code, params = found.pop("code"), found.pop("params")
        ordered: Shape = {}
        for name, value in found.items():
            ordered |= {"code": code, "params": params} if name == self.sentence_name else {}
            ordered[name] = value
        return ordered


class WithNotice(Reasoned):
    """An answer that always has a reason."""

    @property
    def notice(self) -> Notice:
        """The reason."""
        return Notice(self.code or "", from_json(self.params))


class Caution(Answer):
    """A warning: code and parameters for programs, a sentence for people."""

    code: str
    params: dict[str, Any]
    reason: str

    @property
    def notice(self) -> Notice:
        """The warning."""
        return Notice(self.code, from_json(self.params))


def reason_json(notice: Notice | None) -> Shape:
    """Return a reason as code, parameters and sentence, each empty if there is none."""
    if notice is None:
        return {"code": None, "params": {}, "reason": None}
    return {**notice_json(notice), "reason": sentence(notice)}


def failure_json(why: Notice | None) -> Shape:
    """Return the reason of a failure, with its sentence as `error`; each member is empty if there is none."""
    told = reason_json(why)
    return {"error": told.pop("reason"), **told}


def warnings_json(warnings: Iterable[Notice]) -> Shape:
    """Return warnings as sentences, and also as codes with parameters."""
    cautions = [Caution(**reason_json(one)) for one in warnings]
    return {"warnings": [one.reason for one in cautions], "cautions": cautions}


class Event(Reasoned):
    """An event of the journal."""

    id: int
    key: str
    event: str
    ticket_id: int | None
    task_id: int | None
    state: str
    reason: str | None
    occurred_at: AwareDatetime
    received_at: AwareDatetime
    attempts: int
    next_attempt_at: AwareDatetime | None

    @classmethod
    def of(cls, row: JournalEvent, why: Notice | None = None, **more: Any) -> Self:
        """Return an event, with its own reason unless another one is given.

        Args:
            row: as the journal has it.
            why: the reason.
            more: what a subclass adds.
        """
        own = {name: getattr(row, name) for name in Event.model_fields.keys() - {"code", "params", "reason"}}
        return cls(**own, **reason_json(why or row.notice), **more)


class EventAbout(Event):
    """An event of the journal, with the title of its ticket, its user and its issue."""

    title: str
    who: str
    issue_id: int | None


class OnHold(Reasoned):
    """A creation on hold."""

    kind: str
    id: int
    since: AwareDatetime
    reason: str | None
    sent: dict[str, Any] | None
    candidates: list[int]

    @classmethod
    def of(cls, kind: Kind, row: LedgerRow, **more: Any) -> Self:
        """Return a creation that waits for a decision.

        Args:
            kind: its kind.
            row: its ledger row.
            more: what a subclass adds.
        """
        return cls(
            kind=kind,
            id=row.key,
            since=row.changed_at,
            sent=row.body,
            candidates=list(row.candidates or ()),
            **reason_json(row.notice),
            **more,
        )


class OnHoldAbout(OnHold):
    """A creation on hold, and its ticket; `title` is null if it is unknown."""

    ticket_id: int
    title: str | None

    @classmethod
    def named(cls, kind: Kind, row: LedgerRow, titles: Mapping[int, str]) -> Self:
        """Return a creation that waits for a decision, with the title of its ticket."""
        return cls.of(kind, row, ticket_id=row.ticket_id, title=titles.get(row.ticket_id))


class Link(Answer):
    """The mapping of a GLPI project or entity to a Redmine project."""

    kind: Literal["project", "entity"]
    id: int
    tracker_project_id: int
    default_category_id: int | None

    @classmethod
    def of(cls, link: mappings.ProjectMapping, **more: Any) -> Self:
        """Return a mapping.

        Args:
            link: the mapping as it is stored.
            more: what a subclass adds.
        """
        return cls(
            kind=link.kind.value,
            id=link.helpdesk_id,
            tracker_project_id=link.tracker_project_id,
            default_category_id=link.default_category_id,
            **more,
        )


class LinkNamed(Link):
    """A mapping with the names of the GLPI entity or project and of the Redmine project, or null if unknown."""

    name: str | None
    project: str | None


class LinkShown(LinkNamed):
    """A mapping with names, and the URL of the Redmine project."""

    url: str | None


class Synchronisation(Reasoned):
    """A run of the metadata sync."""

    started_at: AwareDatetime
    ended_at: AwareDatetime
    ok: bool
    counts: dict[str, int] | None
    differences: dict[str, Any] | None
    error: str | None

    @classmethod
    def of(cls, run: MetadataRun) -> Self:
        """Return the record of a run."""
        names = ("started_at", "ended_at", "ok", "counts", "differences")
        return cls(**{name: getattr(run, name) for name in names}, **failure_json(run.notice))


class Entry(Answer):
    """An entry of the metadata; its further fields depend on its part."""

    model_config = ConfigDict(extra="allow")

    id: int
    name: str

    @classmethod
    def of(cls, entry: metadata.Entry) -> Self:
        """Return an entry of the metadata."""
        project = {"project_id": entry.tracker_project_id} if entry.tracker_project_id else {}
        return cls.model_validate({"id": entry.tracker_id, "name": entry.name, **project, **entry.details})


class TrackerUser(Answer):
    """A Redmine user."""

    id: int
    login: str
    name: str
    mail: str | None
    admin: bool

    @classmethod
    def of(cls, person: matching.TrackerPerson) -> Self:
        """Return a tracker user."""
        own = {name: getattr(person, name) for name in ("login", "name", "mail", "admin")}
        return cls(id=person.tracker_user_id, **own)
