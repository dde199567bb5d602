"""Acts on behalf of the right person (SPEC section 5): membership first, then impersonation, else the API user.

Nobody becomes a member for a note or an attachment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from shared.bodies.contexts import RenderInput
from shared.errors import ImpersonationRefused, NotYet, OutcomeUnknown, TrackerRejected
from shared.events.payloads import Body
from shared.metadata.synchronisation import refresh, refresh_people
from shared.notices.authors import Misattribution
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Matching
from shared.notices.steps import What
from shared.store.configuration.matching import Match, TrackerPerson
from shared.store.configuration.metadata import MetadataKind
from shared.telemetry import metrics
from shared.tracker.answers import Answer
from shared.tracker.lists import Params, project_of
from shared.tracker.rights import ADD_ISSUES, ADD_NOTES, LOG_TIME, SET_PRIVATE
from shared.tracker.uploads import Upload
from worker.ticket.context import TicketContext
from worker.ticket.memberships import add_member, forget_member
from worker.ticket.rights import Found, Rights, default_role_gone, is_deleted, rights_of

MEMBERSHIP_MAY_HELP = (403, 422)
MEMBERSHIP_TRIES = 5
ONCE_S = 3600
RIGHTS_OR_CONTENT = 422
NOBODY = 412
"""No active user has the login."""
Confirm = Callable[[Awaitable[Answer], TrackerPerson | None], Awaitable[Answer]]
InPlace = Callable[[], Awaitable[tuple[Body, Confirm]]]
"""Returns the body and the confirmation of the API user's call in the place of a person who was refused."""


async def _as_it_is(call: Awaitable[Answer], _: TrackerPerson | None) -> Answer:
    return await call


@dataclass
class Sender:
    """Sends on behalf of one person in one tracker project.

    Args:
        ctx: the ticket's context.
        match: the match of the help desk user on the tracker, and its reason.
        about: the data that request bodies are rendered from.
        is_member: whether the person's membership is known.
        administrators: tracker user ids of the possible authors of a call as the API user; empty if unknown.
        tried: the number of earlier attempts.
        wrong: why the API user acted in the person's place, and what would change that.
        is_withheld: whether the API user acts although the person is known, since a note would become public or the
            person may not upload.
        is_requesters: whether it sends a requester's text or document: they need neither an account nor a membership.
    """

    ctx: TicketContext
    match: Match
    about: RenderInput
    is_member: bool = False
    administrators: tuple[int, ...] = ()
    tried: int = 0
    wrong: Notice | None = None
    is_withheld: bool = False
    is_requesters: bool = False
    _ensured_now: bool = False
    _found: Found | None = None

    @property
    def project_id(self) -> int:
        return self.about.project_id

    @property
    def person(self) -> TrackerPerson | None:
        """The person to act as, or None for the API user."""
        return None if self.is_withheld else self.match.person

    @property
    def is_prepared(self) -> bool:
        """Whether it can send without any preparation."""
        return self.person is not None and self.is_member and bool(self.project_id)

    async def prepare(self) -> None:
        """Ensure the person's membership, unless it is known.

        Raises:
            TrackerError: on an outage; a refusal never blocks the creation.
            NotYet: if it is not known yet whether there is a membership.
            Outdated, LockBusy: if the settings have changed, or the ticket's lock was lost; nothing was sent.
        """
        if self.person is not None and self.about.issue_id is not None and not self.project_id:
            await self._learn_project(self.about.issue_id)
        if self.person is None:
            self.ctx.warn(What.SENT_AS_ADMINISTRATOR(match=self.match.why))
            metrics.AS_ADMINISTRATOR.labels(code=str(self.match.why.code)).inc()
        elif not self.is_member and self._may_become_member():
            await self._ensure_membership(self.person)
        if self.person is not None and self._is_private and self.about.issue_id is not None:
            await self._withhold_unless_private(self.person, self.about.issue_id)

    async def send(
        self,
        method: str,
        path: str,
        body: Body,
        before_send: Callable[[], None],
        confirm: Confirm | None = None,
        in_place: InPlace | None = None,
    ) -> Answer:
        """Send as the person, once more if a missing membership explains the refusal, else as the API user.

        If a person who may create it is refused, the refusal is final: the API user's call could succeed, but with the
        wrong author.

        Args:
            method: HTTP method.
            path: path below base_url.
            body: the request body; the call has already waited for the rate limiter.
            before_send: called right before each request is sent; an error that it raises stops the request.
            confirm: awaits each call, checks that it has taken effect, and completes its answer; it also receives the
                person of the call. None: the answer is sufficient.
            in_place: what the API user sends if the person is refused. None: the same.

        Raises:
            TrackerError: if the API user's call fails, the content is refused, or there is no clear answer.
            LeaseExpired: if `before_send` raises it.
            NotYet: if nothing was created, but a later attempt may succeed.
        """
        tracker, person = self.ctx.tracker, self.person
        confirm = confirm or _as_it_is

        async def call(login: str, has_waited: bool) -> Answer:
            made = tracker.call(
                method, path, body=body, login=login, before_send=before_send, has_waited=has_waited
            )
            return await confirm(made, person)

        if self.person is None:
            made = tracker.call_as_api_user(method, path, body, before_send, has_waited=True)
            return await confirm(made, None)
        try:
            return await self._as_person(self.person, call, is_claimed=True)
        except ImpersonationRefused as refusal:
            refused = refusal
        is_unseeing = self._rights is Rights.UNSEEING and self._right == LOG_TIME
        if refused.status == RIGHTS_OR_CONTENT and is_unseeing:
            return await self._in_their_name(self.person, method, path, body, before_send, refused)
        metrics.AS_ADMINISTRATOR.labels(code=str(refused.notice.code)).inc()
        if refused.status in MEMBERSHIP_MAY_HELP and not self._is_addition:
            await self._look_for_reasons(self.person)
        told, self.wrong = await self._why_refused(self.person, refused)
        body, confirms = await in_place() if in_place is not None else (body, confirm)
        try:
            return await confirms(tracker.call_as_api_user(method, path, body, before_send), None)
        except TrackerRejected:
            if refused.status != NOBODY:  # not even the API user may: this person's rights are not the cause
                told = What.REFUSED_TO_ANYBODY(login=self.person.login, because=refused.notice)
            raise
        finally:
            self.ctx.warn(told)

    def wrong_author(self, author_id: int | None) -> Notice | None:
        """Return why the author in an answer is not the intended one, or None if it is."""
        person, wrong = self.person, self.wrong
        if self.is_requesters and wrong is not None and wrong.code == Misattribution.NOT_MEMBER:
            return None
        if person is None and self.is_withheld:
            return wrong
        if person is None and self.is_requesters:
            return None
        if person is None:
            why = self.match.why
            is_named = why.code != Matching.NOBODY_NAMED
            return Misattribution.NOT_MATCHED(match=why) if is_named else Misattribution.NOBODY_NAMED()
        if author_id in (person.tracker_user_id, None):
            return None
        return wrong or Misattribution.SWITCH_IGNORED(login=person.login)

    @property
    def _is_private(self) -> bool:
        """Whether it is a private note."""
        return self.about.note is not None and bool(self.about.note.is_private)

    @property
    def _right(self) -> str:
        """The required right."""
        if self.about.issue_id is None:
            return ADD_ISSUES
        return LOG_TIME if self.about.task is not None else ADD_NOTES

    @property
    def _is_addition(self) -> bool:
        """Whether it is a note or an attachment."""
        return self._right == ADD_NOTES

    async def _withhold_unless_private(self, person: TrackerPerson, issue_id: int) -> None:
        """Act as the API user if the person may not make notes private: the tracker would make the note public.

        The person's rights in the issue's current project count.

        Raises:
            NotYet: if the rights are not known yet.
            TrackerError: on an outage.
        """
        about: dict[str, object] = {"login": person.login}
        moved = await self._learn_project(issue_id)
        self.ctx.cached.permissions.clear()  # the current permissions of a role count
        try:
            found = await rights_of(self.ctx, person, person.login, self.project_id, issue_id, SET_PRIVATE)
        except (OutcomeUnknown, TrackerRejected) as unclear:
            self._not_yet(Fault.RIGHTS_UNKNOWN(login=person.login, because=unclear.notice))
            about["because"] = unclear.notice
        else:
            if found.rights is Rights.ENOUGH and moved is not None:
                return
            about |= {"roles": list(found.roles), "right": found.right}
        self.is_withheld, self.wrong = True, Misattribution.NOT_PRIVATE_AS_PERSON(**about)
        self.ctx.warn(What.PRIVATE_AS_ADMINISTRATOR(**about))

    @property
    def _rights(self) -> Rights | None:
        return self._found.rights if self._found else None

    async def _why_refused(
        self, person: TrackerPerson, refusal: ImpersonationRefused
    ) -> tuple[Notice, Notice]:
        """Return two notices about a person's refusal: for the ticket history, and for the resulting wrong author.

        Raises:
            TrackerError: on an outage.
        """
        about: dict[str, object] = {"login": person.login, "because": refusal.notice}
        if refusal.status == NOBODY:
            with suppress(OutcomeUnknown):
                if await is_deleted(self.ctx, person.tracker_user_id):
                    return What.PERSON_DELETED(**about), Misattribution.PERSON_DELETED(**about)
            return What.PERSON_NOT_ACTIVE(**about), Misattribution.PERSON_NOT_ACTIVE(**about)
        if self._found is None:
            with suppress(OutcomeUnknown, TrackerRejected):
                self._found = await rights_of(
                    self.ctx, person, person.login, self.project_id, self.about.issue_id, self._right
                )
        if self._found and self._found.rights is Rights.NOT_MEMBER:
            place = {"tracker_project_id": self.project_id}
            if self._is_addition:
                return What.REPEATED_AS_ADMINISTRATOR(**about), Misattribution.NOT_MEMBER(**about, **place)
            about |= place
        elif self._found and self._found.rights is Rights.LACKING:
            about |= {"roles": list(self._found.roles), "right": self._found.right}
        return What.REPEATED_AS_ADMINISTRATOR(**about), Misattribution.PERSON_REFUSED(**about)

    async def upload(self, file: Upload, name: str) -> Answer:
        """Upload a file as the person, who becomes its author; if they may not, the API user uploads and attaches it.

        Args:
            file: the file.
            name: its name on the tracker.

        Raises:
            TrackerError: if no file was uploaded, or that is unknown.
            NotYet: if no file was uploaded, but a later attempt may succeed.
        """
        tracker = self.ctx.tracker

        async def call(login: str | None) -> Answer:
            async with self.ctx.slot():
                await tracker.wait_for_rate_limit()
                return await tracker.upload(file, name, login)

        if self.person is None:
            return await call(None)
        try:
            return await self._as_person(self.person, lambda login, _: call(login), is_claimed=False)
        except ImpersonationRefused as refusal:
            told, self.wrong = await self._why_refused(self.person, refusal)
            metrics.AS_ADMINISTRATOR.labels(code=str(refusal.notice.code)).inc()
        self.is_withheld = True
        self.ctx.warn(told)
        return await call(None)

    async def _as_person(
        self, person: TrackerPerson, call: Callable[[str, bool], Awaitable[Answer]], *, is_claimed: bool
    ) -> Answer:
        """Make a call as a person; `call` receives their login, and whether it has waited for the rate limiter."""
        try:
            return await call(person.login, True)
        except ImpersonationRefused as refusal:
            again = await self._again_as(person, refusal, is_claimed=is_claimed)
            if again is None:
                raise
        try:
            return await call(again, False)
        except ImpersonationRefused as refusal:
            await self._judge(person, again, refusal)
            raise

    async def _again_as(
        self, person: TrackerPerson, refusal: ImpersonationRefused, *, is_claimed: bool
    ) -> str | None:
        """Return the login for a second attempt, or None if the person may not.

        Raises:
            TrackerRejected: as for `_judge`.
            NotYet, TrackerError: if it cannot be found out now.
        """
        if refusal.status == NOBODY:
            login = await self._login_now(person)
            return login if login != person.login else None
        if refusal.status not in MEMBERSHIP_MAY_HELP:
            return None
        moved = self.about.issue_id is not None and await self._learn_project(self.about.issue_id)
        await self._judge(person, person.login, refusal, has_moved=bool(moved))
        if self._rights is Rights.ENOUGH:
            return person.login
        is_member = self._rights in (Rights.LACKING, Rights.UNSEEING)
        if is_member or (self._ensured_now and not moved) or not self._may_become_member():
            return None
        await forget_member(self.ctx, person, self.project_id)
        await self._ensure_membership(person, is_claimed=is_claimed)
        return person.login

    async def _judge(
        self, person: TrackerPerson, login: str, refusal: ImpersonationRefused, *, has_moved: bool = False
    ) -> None:
        """Find out what a 422 is about; any other refusal is about the person.

        Args:
            person: who was refused.
            login: the login of the refused call.
            refusal: the refusal.
            has_moved: whether the issue was moved before the refusal. The person may have become a member of its new
                project after it, so that rights that are enough now prove nothing about it.

        Raises:
            TrackerRejected: if it is about the content: the person may create it.
            NotYet: if it is not known yet.
            TrackerError: on an outage.
        """
        if refusal.status != RIGHTS_OR_CONTENT:
            return
        try:
            self._found = await rights_of(
                self.ctx, person, login, self.project_id, self.about.issue_id, self._right
            )
        except (OutcomeUnknown, TrackerRejected) as unclear:
            self._not_yet(Fault.RIGHTS_UNKNOWN(login=login, because=unclear.notice))
        if self._rights is Rights.ENOUGH and not has_moved:
            self.ctx.warn(What.REFUSED_FOR_CONTENT(login=login, because=refusal.notice))
            raise TrackerRejected(refusal.method, refusal.path, status=refusal.status, errors=refusal.errors)

    async def _in_their_name(
        self,
        person: TrackerPerson,
        method: str,
        path: str,
        body: Body,
        before_send: Callable[[], None],
        refusal: ImpersonationRefused,
    ) -> Answer:
        """Log time as the API user for a person who may log it but does not see the issue.

        The tracker applies the person's own limits, so that a refusal is about the content.
        """
        name = Kind.TICKET_TASK.wire_name
        booked = {**body, name: {**body[name], "user_id": person.tracker_user_id}}
        try:
            return await self.ctx.tracker.call_as_api_user(method, path, booked, before_send)
        finally:
            self.ctx.note(What.BOOKED_TO_PERSON(login=person.login, because=refusal.notice))

    async def _learn_project(self, issue_id: int) -> bool | None:
        """Find the project of an issue; return whether it is another one than was known, or None if that is unknown.

        Raises:
            NotYet: if it is not known yet.
            TrackerError: on an outage.
        """
        kind, before = Kind.TICKET, self.project_id
        params: Params = {"issue_id": issue_id, "status_id": "*"}
        try:
            found = await self.ctx.tracker.find(kind.path, kind.list_name, issue_id, params)
        except (OutcomeUnknown, TrackerRejected) as unclear:
            self._not_yet(Fault.PROJECT_UNKNOWN(issue_id=issue_id, because=unclear.notice))
            return None
        project_id = project_of(found) if found else None
        if project_id in (None, before):
            return False
        self.about = replace(self.about, project_id=project_id)
        self.ctx.moved[issue_id] = project_id
        self.ctx.note(What.ISSUE_MOVED(issue_id=issue_id, tracker_project_id=project_id))
        await self.ctx.db.change(lambda tx: tx.issues.moved(self.ctx.ticket_id, issue_id, project_id))
        return True

    async def _login_now(self, person: TrackerPerson) -> str:
        """Return a person's current login after the tracker rejected the cached one; this refreshes all cached users.

        A locked or deleted person costs only one such query too: the next event does not find them in the cache.

        Raises:
            NotYet: if it is not known yet.
            TrackerError: on an outage.
        """
        try:
            people = await self._people_now()
        except OutcomeUnknown as unclear:
            raise NotYet(Fault.LOGIN_UNKNOWN(login=person.login, because=unclear.notice)) from None
        now = people.get(person.tracker_user_id, person)
        if now.login != person.login:
            self.ctx.note(What.LOGIN_CHANGED(before=person.login, login=now.login))
        return now.login

    async def _look_for_reasons(self, person: TrackerPerson) -> None:
        """Refresh the metadata that may explain a refusal despite a membership, at most once an hour per person.

        The role or the person may no longer exist: then the next event and the doctor see that.

        Raises:
            TrackerError: on an outage.
        """
        once = f"refused:{self.project_id}:{person.tracker_user_id}"
        if await default_role_gone(self.ctx) is None and await self.ctx.redis.once(once, ONCE_S):
            with suppress(OutcomeUnknown, TrackerRejected):
                await self.ctx.metadata(lambda store, lists: refresh(store, lists, MetadataKind.ROLE))
                await self._people_now()
        if self._ensured_now and (gone := await default_role_gone(self.ctx)) is not None:
            await forget_member(self.ctx, person, self.project_id)
            self.ctx.warn(What.NOT_MADE_MEMBER(login=person.login, because=gone))

    async def _people_now(self) -> dict[int, TrackerPerson]:
        """Refresh the cached users of the tracker; people are then matched again."""
        self.ctx.people.clear()
        return await self.ctx.metadata(refresh_people)

    def _may_become_member(self) -> bool:
        """Return whether the person may be made a member.

        Memberships are for technicians (SPEC section 5). Whoever writes a note or adds a document may be a requester,
        who must not get access to a private project in this way. An administrator needs no membership.
        """
        config, person = self.ctx.config, self.person
        if self._is_addition:
            return False
        if (
            config.default_role_id is None
            or config.membership_for == "nobody"
            or person is None
            or person.admin
        ):
            return False
        if config.membership_for == "confirmed" and not self.match.confirmed:
            self.ctx.warn(What.MEMBERSHIP_WITHHELD(login=person.login))
            return False
        return True

    async def _ensure_membership(self, person: TrackerPerson, *, is_claimed: bool = False) -> None:
        """Make a person a member, so that the tracker accepts creations by them.

        Args:
            person: the person.
            is_claimed: whether the creation is claimed already; its lease then replaces the check of the settings.

        Raises:
            NotYet: if it is not known yet whether they are a member.
            Outdated, LockBusy: if the settings have changed, or the ticket's lock was lost; nothing was sent.
            TrackerError: on an outage.
        """
        self._ensured_now = True
        try:
            await add_member(self.ctx, person, self.about, is_claimed=is_claimed)
        except (NotYet, OutcomeUnknown) as unclear:
            self._not_yet(Fault.MEMBERSHIP_UNKNOWN(because=unclear.notice))
            self.ctx.warn(What.MEMBERSHIP_UNCLEAR(login=person.login, because=unclear.notice))

    def _not_yet(self, because: Notice) -> None:
        """Wait a few times if the membership, project or rights are unknown: else the API user would be the author.

        Raises:
            NotYet: unless it was tried often enough, so that a creation is never blocked permanently.
        """
        if self.tried < MEMBERSHIP_TRIES:
            raise NotYet(because)
