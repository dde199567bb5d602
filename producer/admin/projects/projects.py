"""Creates a tracker project for a help desk project or entity and maps it, exactly once (SPEC 2.3, 4.1 forms).

The tracker itself creates several projects with one identifier if they are requested at the same time. So a form
claims its identifier before the call, and every later form looks the project up before anything is sent again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from producer.admin.projects.mappings import MappingResult, add_mapping, put_mapping, replay_waiting
from producer.admin.projects.project_forms import FormRefused, ProjectForm, faults_of, refusal
from producer.admin.records.models import ProjectClaim
from producer.admin.records.project_claims import ClaimState
from producer.admin.records.transaction import Store
from shared.bodies.contexts import engine_for
from shared.bodies.precedence import choose
from shared.errors import (
    BridgeError,
    LeaseExpired,
    LockBusy,
    NotFound,
    OutcomeUnknown,
    TrackerError,
    TrackerOutage,
    TrackerRejected,
)
from shared.events.config import PluginConfig
from shared.metadata.confirming import confirm_mapping
from shared.metadata.reading import find_project
from shared.metadata.synchronisation import Connect, MetadataResult, synchronise
from shared.notices.cautions import Caution
from shared.notices.changes import Did
from shared.notices.faults import Detail
from shared.notices.invalid import Invalid
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.redis.locks import Locks
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.ledger.send_window import SendWindow
from shared.telemetry.logs import get_logger, log_fields
from shared.templating.catalogue import FormPart, from_form
from shared.templating.operations import Operation
from shared.tracker.client import TIMEOUT_S, TrackerClient

log = get_logger("projects")
PATIENCE_S = 20.0
LOOK_AGAIN_S = 0.1
SEND_S = 10.0
"""Maximum time between a form's claim and its request; after it, nothing is sent."""


class ProjectInDoubt(BridgeError):
    """It is unknown if the project was created; the form can be sent again, since the project is looked up first."""


@dataclass(frozen=True, slots=True)
class Made:
    """The result of a form.

    Attributes:
        linked: the mapping that was added.
        created: whether this form created the project; otherwise it existed already.
        metadata: the synchronisation afterwards.
        warnings: what a person should know about the template that built the request, or failed to.
    """

    linked: MappingResult
    created: bool
    metadata: MetadataResult
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class ProjectForms:
    """Carries out the forms of the project tab and the entity tab (SPEC 4.1).

    Attributes:
        connect: returns the Redmine settings and the tracker's client.
        settling: seconds after a lost answer before anything is sent again.
        notify: notifies the tickets whose skipped events are replayed.
        sleep: waits for a number of seconds.
    """

    store: Store
    locks: Locks
    connect: Connect
    settling: float
    notify: Callable[[Sequence[int]], object]
    sleep: Callable[[float], None] = time.sleep

    def link(self, link: ProjectMapping, *, replay: bool = False, keep_category: bool = False) -> Made:
        """Map to an existing active project, notify replayed tickets, then synchronise the metadata.

        Raises:
            NotFound: if the tracker project or the category is unknown.
        """
        linked = add_mapping(
            self.store, link, replay=replay, keep_category=keep_category, connect=self.connect
        )
        self._notify(linked)
        metadata = synchronise(self.store, self.locks, self.connect)
        return Made(linked, created=False, metadata=metadata, warnings=self._unconfirmed(linked))

    def _unconfirmed(self, linked: MappingResult) -> tuple[Notice, ...]:
        """Return what is wrong with a mapping that was added while no metadata was cached, now that it was read."""
        if linked.confirmed:
            return ()
        try:
            with self.store.transaction() as tx:
                is_confirmed = confirm_mapping(tx, linked.mapping)
        except NotFound as unknown:
            return (Caution.LINKED_TO_NO_PROJECT(problem=unknown.notice),)
        project_id = linked.mapping.tracker_project_id
        return () if is_confirmed else (Caution.LINKED_UNCHECKED(tracker_project_id=project_id),)

    def create(
        self,
        kind: MappingKind,
        helpdesk_id: int,
        form: ProjectForm,
        *,
        category: int | None = None,
        keep_category: bool = True,
        replay: bool = False,
    ) -> Made:
        """Create a project and map to it, as `mapping add` does; a repeated form finds the project of the first one.

        Args:
            kind: whether the form is for a help desk project or an entity.
            helpdesk_id: its id.
            form: the form as it was filled in.
            category: category of new issues; it is set if the project turns out to have it, else there is a warning.
            keep_category: if no category is given, keep the one of the previous mapping.
            replay: as `add_mapping`.

        Raises:
            FormRefused: if fields are wrong, by our own checks or by the tracker's; it names each of them.
            ProjectInDoubt: if there was no clear answer, and the project does not exist yet.
            LockBusy: if another form with this identifier takes too long.
            TrackerError: if the tracker cannot be queried.
        """
        config, client = self.connect()
        project, warnings = self._project(form, config)
        with self._alone(project["identifier"]):
            entry, created = self._ensure(client, kind, helpdesk_id, project)
            link = ProjectMapping(kind, helpdesk_id, entry.tracker_id, None)
            keep = keep_category and category is None
            linked = self._keep(link, entry, replay=replay, keep_category=keep)
        self._notify(linked)
        metadata = synchronise(self.store, self.locks, self.connect)
        if category is not None:
            try:
                made = add_mapping(self.store, replace(link, default_category_id=category), replay=False)
                linked = replace(linked, mapping=made.mapping)
            except NotFound as unknown:
                warnings = (*warnings, Caution.LINKED_WITHOUT_CATEGORY(problem=unknown.notice))
        return Made(linked, created, metadata, warnings)

    def _notify(self, linked: MappingResult) -> None:
        if linked.replayed:
            self.notify(linked.tickets)

    def _project(self, form: ProjectForm, config: PluginConfig) -> tuple[dict[str, Any], tuple[Notice, ...]]:
        """Return the project to send, from the active template or else from the form (SPEC section 9), and warnings.

        Raises:
            FormRefused: if the tracker would refuse it.
        """
        with self.store.transaction() as tx:
            template = tx.templates.active().get(Operation.PROJECT_CREATE)
            chosen = choose(
                template,
                lambda: engine_for(Operation.PROJECT_CREATE, tx),
                lambda: from_form(FormPart.model_validate(form.for_templates()), config),
                form.body,
            )
            project: dict[str, Any] = chosen.body["project"]
            if faults := faults_of(tx, project):
                raise FormRefused(faults)
        if chosen.fault is None:
            return project, chosen.warnings
        told = Caution.FORM_SENT_AS_IT_IS(template=str(template), problem=chosen.fault.notice)
        log.error(**log_fields(told))
        return project, (told,)

    @contextmanager
    def _alone(self, identifier: str) -> Iterator[None]:
        """Hold the lock of an identifier; wait a while if another form holds it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                with self.locks.hold(f"project:{identifier}"):
                    yield
                    return
            except LockBusy:
                if time.monotonic() > deadline:
                    raise
            self.sleep(LOOK_AGAIN_S)

    def _ensure(
        self, client: TrackerClient, kind: MappingKind, helpdesk_id: int, project: dict[str, Any]
    ) -> tuple[Entry, bool]:
        """Return the project, and whether it was created now."""
        identifier = project["identifier"]
        with self.store.transaction() as tx:
            claim = tx.project_claims.get(identifier)
        found = find_project(client, identifier)
        if found is not None:
            if claim is None or not _is_ours(claim, kind, helpdesk_id):
                raise FormRefused(
                    [
                        (
                            "identifier",
                            Invalid.IDENTIFIER_IN_USE(project_id=found.tracker_id, project_name=found.name),
                        )
                    ]
                )
            return found, False
        settling = SEND_S + TIMEOUT_S + self.settling
        client.wait_for_rate_limit()
        window = SendWindow(SEND_S)
        with self.store.transaction() as tx:
            seen = claim.attempt if claim else 0
            attempt = tx.project_claims.claim(identifier, kind, helpdesk_id, attempt=seen, settling=settling)
        if attempt is None:
            raise ProjectInDoubt(Refusal.PROJECT_JUST_ASKED_FOR(identifier=identifier, seconds=settling))
        return self._send(client, project, attempt, window), True

    def _send(
        self, client: TrackerClient, project: dict[str, Any], attempt: int, window: SendWindow
    ) -> Entry:
        identifier = project["identifier"]
        give_back = partial(self._free, identifier, attempt)
        try:
            answer = client.call(
                "POST",
                "/projects.json",
                body={"project": project},
                before_send=window.check,
                has_waited=True,
            )
            return _entry(project, answer.object("project").get("id"))
        except TrackerRejected as rejection:
            give_back(rejection.notice)
            if rejection.status != 422:
                raise
            with self.store.transaction() as tx:
                raise refusal(tx, rejection.errors) from None
        except OutcomeUnknown as unclear:
            return self._look_up(client, identifier, unclear.notice)
        except KeyError:
            return self._look_up(client, identifier, Detail.NO_PROJECT_ID())
        except (TrackerError, LeaseExpired) as failure:
            if isinstance(failure, TrackerOutage) and failure.may_have_acted:
                return self._look_up(client, identifier, failure.notice)
            give_back(failure.notice)
            raise

    def _look_up(self, client: TrackerClient, identifier: str, unclear: Notice) -> Entry:
        log.warning("no clear answer to the creation of a project; looking it up", identifier=identifier)
        try:
            found = find_project(client, identifier)
        except TrackerError:
            found = None
        if found is None:
            raise ProjectInDoubt(Refusal.PROJECT_IN_DOUBT(identifier=identifier, problem=unclear)) from None
        return found

    def _keep(
        self, link: ProjectMapping, project: Entry, *, replay: bool, keep_category: bool
    ) -> MappingResult:
        """Store the project and its mapping in one commit; then process what waited for the mapping."""
        with self.store.transaction() as tx:
            tx.metadata.put([project])
            tx.project_claims.created(str(project.details["identifier"]), project.tracker_id)
            tx.changes.note(
                Did.PROJECT_CREATED(name=project.name), after={"id": project.tracker_id, **project.details}
            )
            made = put_mapping(tx, link, keep_category=keep_category)
        return replay_waiting(self.store, made, replay=replay)

    def _free(self, identifier: str, attempt: int, reason: Notice) -> None:
        with self.store.transaction() as tx:
            tx.project_claims.free(identifier, attempt, reason)


def _is_ours(claim: ProjectClaim, kind: MappingKind, helpdesk_id: int) -> bool:
    """Return whether a project with this identifier comes from an earlier form of the same help desk object."""
    same = (claim.link_kind, claim.helpdesk_id) == (str(kind), helpdesk_id)
    return same and claim.state in (ClaimState.CLAIMED, ClaimState.CREATED)


def _entry(project: Mapping[str, Any], tracker_project_id: object) -> Entry:
    if type(tracker_project_id) is not int:
        raise KeyError("id")
    details = {
        "identifier": project["identifier"],
        "parent_id": project.get("parent_id"),
        "is_public": project.get("is_public", False),
    }
    return Entry(MetadataKind.PROJECT, tracker_project_id, project["name"], details)
