"""The administration's access to the tables, one transaction at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager

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
from shared.store.journal.highest import HighestNumbers
from shared.store.opening import Repository, opened


class Transaction(transaction.Transaction):
    """Every repository over one database transaction."""

    project_claims = Repository(ProjectClaims)
    accounts = Repository(Accounts)
    events = Repository(EventSearch)
    event_subjects = Repository(EventSubjects)
    helpdesk_users = Repository(PeopleSearch)
    samples = Repository(Samples)
    wrong_authors = Repository(WrongAuthors)
    known_hours = Repository(KnownHours)
    support = Repository(Support)
    known_names = Repository(KnownNames)
    highest = Repository(HighestNumbers)


class Store(transaction.Store):
    """Opens transactions on a database."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: committed at the end of the block, rolled back when it raises."""
        return opened(self.database, Transaction)
