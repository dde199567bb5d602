"""A deskbridge over a stand-in tracker, a real Redis and a real database."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from deploy.sandbox.tracker.control import StandIn
from tests.support.bridge import Bridge


@pytest.fixture(scope="session")
def stand_in_process() -> Iterator[StandIn]:
    """A stand-in tracker, for the whole session."""
    with StandIn(in_process=True) as stand_in:
        yield stand_in


@pytest.fixture
def stand_in(stand_in_process: StandIn) -> StandIn:
    """A stand-in tracker with nothing but its seed in it."""
    stand_in_process.reset()
    return stand_in_process


@pytest.fixture
def bridge(stand_in: StandIn, redis_url: str, tmp_path: Path) -> Iterator[Bridge]:
    """A deskbridge linked to the stand-in's project "support"."""
    made = Bridge(f"sqlite:///{tmp_path}/bridge.sqlite3", redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


@pytest.fixture
def bridge_on_postgresql(stand_in: StandIn, redis_url: str, emptied_postgres_url: str) -> Iterator[Bridge]:
    """The same over PostgreSQL."""
    made = Bridge(emptied_postgres_url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


@pytest.fixture
def tls_context(tmp_path: Path) -> ssl.SSLContext:
    """What a server speaks TLS by whose certificate nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "server.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context
