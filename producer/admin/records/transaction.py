"""What people's side does with the tables, one transaction at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from producer.admin.records.accounts import Accounts
from producer.admin.records.event_search import EventSearch
from producer.admin.records.event_subjects import EventSubjects
from producer.admin.records.known_hours import KnownHours
from producer.admin.records.known_names import KnownNames
from producer.admin.records.people_search import PeopleSearch
from producer.admin.records.project_claims import ProjectClaims
from producer.admin.records.samples import Samples
from producer.admin.records.support import Support
from producer.admin.records.wrong_authors import WrongAuthors
from shared.store import transaction
from shared.store.configuration.notifications import Notifications
from shared.store.opening import opened


class Transaction(transaction.Transaction):
    """Every repository over one database transaction."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.project_claims = ProjectClaims(session)
        self.accounts = Accounts(session)
        self.events = EventSearch(session)
        self.event_subjects = EventSubjects(session)
        self.helpdesk_users = PeopleSearch(session)
        self.samples = Samples(session)
        self.wrong_authors = WrongAuthors(session)
        self.known_hours = KnownHours(session)
        self.support = Support(session)
        self.known_names = KnownNames(session)
        self.notifications = Notifications(session)


class Store(transaction.Store):
    """Opens transactions on a database."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: committed at the end of the block, rolled back when it raises."""
        return opened(self.database, Transaction)
