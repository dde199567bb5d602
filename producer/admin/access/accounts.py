"""Accounts with passwords, their sessions, and API tokens.

Each secret that grants access (session, sign-in link, token) is 32 random bytes, stored only as a SHA-256 hash.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from producer.admin.access.passwords import LONGEST_PASSWORD, hash_of, matches
from producer.admin.records.rights import OF_ACCOUNTS, Right
from producer.admin.records.transaction import Store, Transaction
from shared.errors import BridgeError, NotFound
from shared.notices.access import AccessRefusal
from shared.notices.changes import Did
from shared.notices.refusals import Refusal
from shared.store.configuration.changes import acting

if TYPE_CHECKING:
    from producer.admin.records.models import ApiToken, ConsoleAccount

NAME = re.compile(r"[\w.@+-][\w .@+-]{0,98}[\w.@+-]|[\w.@+-]")
SHORTEST_PASSWORD = 12
SESSION_S = 12 * 3600.0
IDLE_S = 2 * 3600.0
LINK_S = 15 * 60.0
ROTATION_S = 3600.0
"""How long a replaced token stays valid, so that its users can switch to the new one."""
PROVIDER = "single sign-on"
"""Actor in the audit log if a provider's sign-in creates or changes an account."""


class AccountRefused(BridgeError):
    """A refused creation, change or use of an account or token."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A signed-in user.

    Attributes:
        id: id of the account.
        name: name of the account.
        right: what the user may do.
    """

    id: int
    name: str
    right: Right


@dataclass(frozen=True, slots=True)
class KnownToken:
    """An API token without its secret.

    Attributes:
        name: what it is for.
        right: what it may do.
        owner: the account that owns the token, or None.
        created_at: when it was created.
        used_at: when it was used last.
        revoked_at: when it stops being accepted, or None; in the future if the token was replaced.
        expires_at: when it expires, or None if it never does.
    """

    name: str
    right: str
    owner: str | None
    created_at: datetime
    used_at: datetime | None
    revoked_at: datetime | None
    expires_at: datetime | None

    @property
    def is_good(self) -> bool:
        """Whether it is accepted at this moment."""
        now = datetime.now(UTC)
        return all(one is None or one > now for one in (self.revoked_at, self.expires_at))


class AccountStore:
    """Manages accounts, sessions and tokens.

    Args:
        store: where they are stored.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> Sequence[ConsoleAccount]:
        """Return every account."""
        with self._store.transaction() as tx:
            return tx.accounts.all()

    def add(self, name: str, password: str | None, right: Right) -> None:
        """Add an account.

        Args:
            name: the name that the owner signs in with.
            password: None if the owner can sign in only by a link or a provider.
            right: what its owner may do.

        Raises:
            AccountRefused: if the name is taken or invalid, the password unfit, or the right invalid.
        """
        _check_name(name)
        _check_right(right)
        hashed = None if password is None else hash_of(_checked(password))
        try:
            with self._store.transaction() as tx:
                tx.accounts.lock()
                if (same := tx.accounts.named(name)) is not None:
                    raise AccountRefused(AccessRefusal.ACCOUNT_NAME_TAKEN(name=same.name))
                tx.accounts.add(name, hashed, right)
                tx.changes.note(Did.ACCOUNT_ADDED(account=name, right=right))
        except IntegrityError:
            raise AccountRefused(AccessRefusal.ACCOUNT_NAME_TAKEN(name=name)) from None

    def set_password(self, name: str, password: str) -> None:
        """Replace a password, and end every session of the account.

        Raises:
            NotFound: if there is no such account.
            AccountRefused: if the password is too short or too long.
        """
        hashed = hash_of(_checked(password))
        with self._store.transaction() as tx:
            tx.accounts.lock()
            account = _found(tx, name)
            tx.accounts.set_password(account.id, hashed)
            tx.accounts.end_sessions(account.id)
            tx.changes.note(Did.PASSWORD_CHANGED(account=name))

    def disable(self, name: str, *, disabled: bool = True) -> int:
        """Disable an account and revoke its tokens, or enable it again; revoked tokens stay revoked.

        Returns:
            How many tokens were revoked.

        Raises:
            NotFound: if there is no such account.
            AccountRefused: if no enabled administrator would be left.
        """
        revoked: Sequence[str] = ()
        with self._store.transaction() as tx:
            tx.accounts.lock()
            account = _found(tx, name)
            was_disabled = account.disabled_at is not None  # read now: the update below changes the object
            if disabled:
                _keep_an_administrator(tx, account)
                tx.accounts.end_sessions(account.id)
                revoked = tx.accounts.revoke_tokens(account.id)
            tx.accounts.disable(account.id, disabled=disabled)
            if disabled != was_disabled:
                did = Did.ACCOUNT_DISABLED if disabled else Did.ACCOUNT_ENABLED
                tx.changes.note(
                    did(account=name), before={"disabled": was_disabled}, after={"disabled": disabled}
                )
            for token in revoked:
                tx.changes.note(Did.TOKEN_REVOKED(token=token))
        return len(revoked)

    def set_right(self, name: str, right: Right) -> None:
        """Change what an account may do.

        Raises:
            NotFound: if there is no such account.
            AccountRefused: if no enabled administrator would be left, or accounts cannot have this right.
        """
        _check_right(right)
        with self._store.transaction() as tx:
            tx.accounts.lock()
            account = _found(tx, name)
            before = account.right  # read now: the update below changes the object
            if before == right:
                return
            if right is not Right.ADMINISTRATOR:
                _keep_an_administrator(tx, account)
            tx.accounts.set_right(account.id, right)
            did = Did.RIGHT_CHANGED(account=name, before=before, after=right)
            tx.changes.note(did, before={"right": before}, after={"right": right})

    def sign_in(self, name: str, password: str) -> str | None:
        """Start a session and return its cookie value, or None if the name or the password is wrong.

        The check takes as long for an unknown name as for a known one.

        Raises:
            TooBusy: if too many sign-ins are in progress.
        """
        account = self._proven(name, password)
        return None if account is None else self._begin(account)

    def has_password(self, name: str) -> bool:
        """Return whether an account has a password; without one, only a link or a provider signs its owner in."""
        with self._store.transaction() as tx:
            return _found(tx, name).password_hash is not None

    def proves(self, name: str, password: str) -> bool:
        """Return whether a password is right for an account.

        Raises:
            TooBusy: if too many sign-ins are in progress.
        """
        return self._proven(name, password) is not None

    def start_session(self, name: str) -> str:
        """Start a session for a user who was authenticated in another way; return its cookie value.

        Raises:
            NotFound: if there is no such account.
            AccountRefused: if it is disabled, or was changed in the meantime.
        """
        with self._store.transaction() as tx:
            account = _found(tx, name)
        session = self._begin(account)
        if session is None:
            raise AccountRefused(AccessRefusal.ACCOUNT_SHUT(name=name))
        return session

    def link_for(self, name: str) -> str:
        """Return a code that signs in to an account once, within a quarter of an hour.

        Raises:
            NotFound: if there is no such account.
        """
        code = secrets.token_urlsafe(32)
        with self._store.transaction() as tx:
            tx.accounts.put_link(digest(code), _found(tx, name).id, LINK_S)
        return code

    def sign_in_by_link(self, code: str) -> str | None:
        """Use up a sign-in code; return the cookie value of a new session, or None if the code is not valid."""
        with self._store.transaction() as tx:
            account = tx.accounts.use_link(digest(code))
        return None if account is None else self._begin(account)

    def sign_in_known(self, name: str, right: Right | None, *, add: bool) -> str:
        """Start a session for a user whom an OpenID provider authenticated; return its cookie value.

        Args:
            name: name of the account.
            right: the right to assign; None keeps the account's, and makes a new account a viewer.
            add: whether to create a missing account.

        Raises:
            AccountRefused: if the account is missing, disabled or misnamed, or no administrator would be left.
        """
        _check_name(name)
        with self._store.transaction() as tx:
            account = tx.accounts.named(name)
        if account is not None and account.disabled_at is not None:
            raise AccountRefused(AccessRefusal.ACCOUNT_SHUT(name=name))
        with acting(PROVIDER):
            if account is None:
                if not add:
                    raise AccountRefused(AccessRefusal.ACCOUNT_NOT_ADDED(name=name))
                self.add(name, None, right or Right.VIEWER)
            elif right is not None and account.right != right:
                self.set_right(name, right)
        return self.start_session(name)

    def device_of(self, session: str) -> str | None:
        """Return a value that marks a browser as known to an account, or None without a session or password.

        It grants no access, and a change of the password makes it invalid.
        """
        with self._store.transaction() as tx:
            account = tx.accounts.in_session(digest(session), IDLE_S)
        if account is None or account.password_hash is None:
            return None
        nonce = secrets.token_urlsafe(16)
        return f"{nonce}.{_mark(account.password_hash, account.id, nonce)}"

    def known_device(self, name: str, device: str | None) -> str:
        """Return the id of a browser that has signed in to an account before, or "" for any other."""
        if not device or not name:
            return ""
        with self._store.transaction() as tx:
            account = tx.accounts.named(name)
        nonce, _, mark = device.partition(".")
        if account is None or account.password_hash is None:
            return ""
        expected = _mark(account.password_hash, account.id, nonce)
        return nonce if hmac.compare_digest(expected.encode(), mark.encode("utf-8", "replace")) else ""

    def _proven(self, name: str, password: str) -> ConsoleAccount | None:
        with self._store.transaction() as tx:
            account = tx.accounts.named(name)
        hashed = account.password_hash if account and account.disabled_at is None else None
        return account if matches(hashed, password) else None

    def _begin(self, account: ConsoleAccount) -> str | None:
        """Start a session; return None if the account was disabled or its password changed since it was read."""
        session = secrets.token_urlsafe(32)
        with acting(account.name), self._store.transaction() as tx:
            tx.accounts.lock()
            now = _found(tx, account.name)
            if now.disabled_at is not None or now.password_hash != account.password_hash:
                return None
            tx.accounts.begin_session(digest(session), account.id, SESSION_S)
            tx.changes.note(Did.SIGNED_IN())
        return session

    def user_of_session(self, session: str) -> SignedIn | None:
        """Return the user of a session, or None if it is over."""
        with self._store.transaction() as tx:
            account = tx.accounts.in_session(digest(session), IDLE_S)
            return SignedIn(account.id, account.name, Right(account.right)) if account else None

    def sign_out(self, session: str) -> None:
        """End a session."""
        with self._store.transaction() as tx:
            tx.accounts.end_session(digest(session))

    def sign_out_everywhere(self, name: str) -> int:
        """End every session of an account; return how many there were.

        Raises:
            NotFound: if there is no such account.
        """
        with self._store.transaction() as tx:
            count = tx.accounts.end_sessions(_found(tx, name).id)
            tx.changes.note(Did.SIGNED_OUT(account=name))
        return count

    def tokens(self) -> Sequence[KnownToken]:
        """Return every token, newest first."""
        with self._store.transaction() as tx:
            return [
                KnownToken(
                    one.name, one.right, owner, one.created_at, one.used_at, one.revoked_at, one.expires_at
                )
                for one, owner in tx.accounts.tokens()
            ]

    def add_token(self, name: str, right: Right, owner: str | None = None, days: int | None = None) -> str:
        """Create an API token and return it; it is never shown again.

        Args:
            name: what it is for.
            right: what it may do.
            owner: the account that owns the token, or None; disabling the account revokes the token.
            days: the number of days until it expires; None if it never does.

        Raises:
            NotFound: if there is no such account.
            AccountRefused: if the name is taken or invalid, or the owner is disabled or has a lower right.
        """
        _check_name(name)
        token = secrets.token_urlsafe(32)
        try:
            with self._store.transaction() as tx:
                now = tx.accounts.now()
                before = tx.accounts.token_named(name)
                if before is not None:
                    if not _has_ended(before, now):
                        raise AccountRefused(AccessRefusal.TOKEN_NAME_TAKEN(name=name))
                    tx.accounts.give_name_away(before)
                owner_id = None if owner is None else _owner(tx, owner, right).id
                expires_at = None if days is None else now + timedelta(days=days)
                tx.accounts.add_token(name, digest(token), right, owner_id, expires_at)
                told = {"owner": owner, "expires_at": expires_at and expires_at.isoformat(timespec="seconds")}
                after = {key: value for key, value in told.items() if value is not None}
                tx.changes.note(Did.TOKEN_ADDED(token=name, right=right), after=after or None)
        except IntegrityError:
            raise AccountRefused(AccessRefusal.TOKEN_NAME_TAKEN(name=name)) from None
        return token

    def rotate_token(self, name: str) -> str:
        """Replace a token by a new one of the same name, owner, right and lifetime; return the new one.

        The old token stays valid for an hour.

        Raises:
            NotFound: if there is no such token.
            AccountRefused: if it is revoked or expired.
        """
        token = secrets.token_urlsafe(32)
        try:
            with self._store.transaction() as tx:
                before, now = tx.accounts.token_named(name), tx.accounts.now()
                if before is None:
                    raise NotFound(Refusal.TOKEN_UNKNOWN(name=name))
                if _has_ended(before, now):
                    raise AccountRefused(AccessRefusal.TOKEN_HAS_ENDED(name=name))
                right, owner_id = before.right, before.owner_id  # read now: what follows changes the object
                expires_at = before.expires_at and now + (before.expires_at - before.created_at)
                tx.accounts.give_name_away(before)
                tx.accounts.revoke_token(before.id, ROTATION_S)
                tx.accounts.add_token(name, digest(token), right, owner_id, expires_at)
                tx.changes.note(Did.TOKEN_ROTATED(token=name))
        except IntegrityError:
            raise AccountRefused(AccessRefusal.TOKEN_NAME_TAKEN(name=name)) from None
        return token

    def revoke_token(self, name: str) -> None:
        """Stop accepting a token.

        Raises:
            NotFound: if there is no such token.
        """
        with self._store.transaction() as tx:
            token = tx.accounts.token_named(name)
            if token is None:
                raise NotFound(Refusal.TOKEN_UNKNOWN(name=name))
            if token.revoked_at is None or token.revoked_at > tx.accounts.now():
                tx.accounts.revoke_token(token.id)
                tx.changes.note(Did.TOKEN_REVOKED(token=name))

    def token_with(self, text: str) -> tuple[str, Right] | None:
        """Return the name and the right of a valid token, or None if the token is not valid."""
        with self._store.transaction() as tx:
            found = tx.accounts.token_with(digest(text))
            if found is None:
                return None
            token, of_owner = found
            right = Right(token.right)
            if of_owner is not None and not Right(of_owner).covers(right):
                right = Right(of_owner)  # the owner's right was reduced
            return token.name, right


def _has_ended(token: ApiToken, now: datetime) -> bool:
    return token.revoked_at is not None or (token.expires_at is not None and token.expires_at <= now)


def digest(text: str) -> str:
    """Return the hash under which a secret is stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _mark(password_hash: str, account_id: int, nonce: str) -> str:
    content = f"device {account_id} {nonce}".encode("utf-8", "replace")
    return hmac.new(password_hash.encode(), content, hashlib.sha256).hexdigest()


def _found(tx: Transaction, name: str) -> ConsoleAccount:
    account = tx.accounts.named(name)
    if account is None:
        raise NotFound(Refusal.ACCOUNT_UNKNOWN(name=name))
    return account


def _owner(tx: Transaction, name: str, right: Right) -> ConsoleAccount:
    tx.accounts.lock()
    owner = _found(tx, name)
    if owner.disabled_at is not None:
        raise AccountRefused(AccessRefusal.ACCOUNT_SHUT(name=name))
    if not Right(owner.right).covers(right):
        raise AccountRefused(AccessRefusal.TOKEN_EXCEEDS_OWNER(name=name, has=owner.right, right=right))
    return owner


def _keep_an_administrator(tx: Transaction, account: ConsoleAccount) -> None:
    others = [one for one in tx.accounts.all() if one.id != account.id and one.disabled_at is None]
    if account.right == Right.ADMINISTRATOR and not any(one.right == Right.ADMINISTRATOR for one in others):
        raise AccountRefused(AccessRefusal.LAST_ADMINISTRATOR(name=account.name))


def _check_right(right: Right) -> None:
    if right not in OF_ACCOUNTS:
        raise AccountRefused(AccessRefusal.ACCOUNT_RIGHT_UNKNOWN(rights=[str(one) for one in OF_ACCOUNTS]))


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise AccountRefused(AccessRefusal.ACCOUNT_NAME_UNFIT())


def _checked(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise AccountRefused(AccessRefusal.PASSWORD_TOO_SHORT(least=SHORTEST_PASSWORD))
    return password
