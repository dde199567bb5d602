"""Accounts, sessions, sign-in links and tokens. Sessions, links and tokens are stored only as SHA-256 digests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.orm import Session

from producer.admin.records.models import ApiToken, ConsoleAccount, ConsoleSession, SignInLink
from shared.store.tables.types import clock, moment

LONGEST_NAME = 100
SEEN_EVERY_S = 60
"""Least seconds between two records of the last use of a session or token."""


class Accounts:
    """Reads and writes accounts, sessions, sign-in links and tokens within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> Sequence[ConsoleAccount]:
        """Return every account by name."""
        return self._session.scalars(select(ConsoleAccount).order_by(ConsoleAccount.name)).all()

    def lock(self) -> None:
        """Block other changes of accounts, and new sessions, until this transaction ends; later reads are current."""
        self._session.execute(select(ConsoleAccount.id).order_by(ConsoleAccount.id).with_for_update()).all()

    def named(self, name: str) -> ConsoleAccount | None:
        """Return the account with a name, ignoring case; an exact match comes first."""
        folded = name.casefold()
        alike = [
            one for one in self.all() if one.name.casefold() == folded
        ]  # no database folds the case of every alphabet
        return next((one for one in alike if one.name == name), alike[0] if alike else None)

    def add(self, name: str, password_hash: str | None, right: str) -> None:
        values = {"name": name, "password_hash": password_hash, "right": right, "created_at": clock()}
        self._session.execute(insert(ConsoleAccount).values(values))

    def set_password(self, account_id: int, password_hash: str) -> None:
        """Replace the password hash of an account."""
        self._change(account_id, password_hash=password_hash)

    def disable(self, account_id: int, *, disabled: bool) -> None:
        """Disable or enable an account."""
        self._change(account_id, disabled_at=clock() if disabled else None)

    def set_right(self, account_id: int, right: str) -> None:
        """Change what an account may do."""
        self._change(account_id, right=right)

    def _change(self, account_id: int, **values: object) -> None:
        self._session.execute(update(ConsoleAccount).where(ConsoleAccount.id == account_id).values(**values))

    def begin_session(self, digest: str, account_id: int, seconds: float) -> None:
        """Store a new session, and delete expired ones."""
        self._session.execute(delete(ConsoleSession).where(ConsoleSession.ends_at < moment()))
        values = {"began_at": clock(), "seen_at": clock(), "ends_at": clock(seconds)}
        self._session.execute(insert(ConsoleSession).values(digest=digest, account_id=account_id, **values))

    def in_session(self, digest: str, idle_s: float) -> ConsoleAccount | None:
        """Return the account of a session, unless the session has expired or the account is disabled."""
        found = self._session.execute(
            select(ConsoleAccount, ConsoleSession.seen_at < moment(-SEEN_EVERY_S))
            .join(ConsoleSession, ConsoleSession.account_id == ConsoleAccount.id)
            .where(
                ConsoleSession.digest == digest,
                ConsoleSession.ends_at > moment(),
                ConsoleSession.seen_at > moment(-idle_s),
                ConsoleAccount.disabled_at.is_(None),
            )
        ).first()
        if found is None:
            return None
        account, is_old = found
        if is_old:
            own = update(ConsoleSession).where(ConsoleSession.digest == digest)
            self._session.execute(own.values(seen_at=clock()))
        return account

    def end_session(self, digest: str) -> None:
        self._session.execute(delete(ConsoleSession).where(ConsoleSession.digest == digest))

    def end_sessions(self, account_id: int) -> int:
        """Delete all sessions and sign-in links of an account; return the number of sessions."""
        self._session.execute(delete(SignInLink).where(SignInLink.account_id == account_id))
        gone = delete(ConsoleSession).where(ConsoleSession.account_id == account_id)
        return len(self._session.execute(gone.returning(ConsoleSession.digest)).all())

    def put_link(self, digest: str, account_id: int, seconds: float) -> None:
        """Store a sign-in link, and delete expired ones."""
        self._session.execute(delete(SignInLink).where(SignInLink.ends_at < moment()))
        values = {"digest": digest, "account_id": account_id, "ends_at": clock(seconds)}
        self._session.execute(insert(SignInLink).values(values))

    def use_link(self, digest: str) -> ConsoleAccount | None:
        """Use up a sign-in link; return its account, unless the link has expired or the account is disabled."""
        gone = delete(SignInLink).where(SignInLink.digest == digest, SignInLink.ends_at > moment())
        account_id = self._session.scalar(gone.returning(SignInLink.account_id))
        account = None if account_id is None else self._session.get(ConsoleAccount, account_id)
        return account if account and account.disabled_at is None else None

    def tokens(self) -> Sequence[tuple[ApiToken, str | None]]:
        """Return every token with the name of its owner, including revoked tokens, newest first."""
        owned = select(ApiToken, ConsoleAccount.name).outerjoin(
            ConsoleAccount, ConsoleAccount.id == ApiToken.owner_id
        )
        return [(token, owner) for token, owner in self._session.execute(owned.order_by(ApiToken.id.desc()))]

    def add_token(
        self, name: str, digest: str, right: str, owner_id: int | None, expires_at: datetime | None
    ) -> None:
        """Store a new token."""
        values = {"name": name, "digest": digest, "right": right, "owner_id": owner_id}
        kept = insert(ApiToken).values(**values, created_at=clock(), expires_at=expires_at)
        self._session.execute(kept)

    def give_name_away(self, token: ApiToken) -> None:
        """Free a token's name for another token: rename this token by appending its id."""
        number = f" #{token.id}"
        own = update(ApiToken).where(ApiToken.id == token.id)
        self._session.execute(own.values(name=token.name[: LONGEST_NAME - len(number)] + number))

    def now(self) -> datetime:
        """Return the database's time."""
        found: datetime = self._session.execute(select(moment())).scalar_one()
        return found

    def token_named(self, name: str) -> ApiToken | None:
        return self._session.scalar(select(ApiToken).where(ApiToken.name == name))

    def token_with(self, digest: str) -> tuple[ApiToken, str | None] | None:
        """Return a valid token and its owner's right, or None; record the use."""
        found = self._session.execute(
            select(ApiToken, ApiToken.used_at > moment(-SEEN_EVERY_S), ConsoleAccount.right)
            .outerjoin(ConsoleAccount, ConsoleAccount.id == ApiToken.owner_id)
            .where(
                ApiToken.digest == digest,
                or_(ApiToken.revoked_at.is_(None), ApiToken.revoked_at > moment()),
                or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > moment()),
                ConsoleAccount.disabled_at.is_(None),
            )
        ).first()
        if found is None:
            return None
        token, is_noted, right = found
        if not is_noted:
            self._session.execute(update(ApiToken).where(ApiToken.id == token.id).values(used_at=clock()))
        return token, right

    def revoke_tokens(self, owner_id: int) -> Sequence[str]:
        """Stop accepting an account's tokens; return their names."""
        is_good = or_(ApiToken.revoked_at.is_(None), ApiToken.revoked_at > moment())
        good = update(ApiToken).where(ApiToken.owner_id == owner_id, is_good)
        return self._session.scalars(good.values(revoked_at=clock()).returning(ApiToken.name)).all()

    def revoke_token(self, token_id: int, after_s: float = 0) -> None:
        """Stop accepting a token, now or after some seconds."""
        own = update(ApiToken).where(ApiToken.id == token_id)
        self._session.execute(own.values(revoked_at=clock(after_s)))
