"""Certificates of the tests' own authority, a server that uses them, and an HTTP proxy; all on 127.0.0.1."""

from __future__ import annotations

import contextlib
import ipaddress
import select
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


class Authority:
    """Issues certificates.

    Args:
        directory: directory of its own certificate (`file`) and of those that it issues.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the tests' own authority")])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        own = self._builder(self._name, self._key, 10).add_extension(constraints, critical=True)
        self.file = directory / "authority.pem"
        self.file.write_bytes(own.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def context(self, *names: str, days: int = 5) -> ssl.SSLContext:
        """Return a server's TLS context with a new certificate.

        Args:
            names: names in the certificate; 127.0.0.1 by default.
            days: days of validity; if negative, it has expired.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        named: list[x509.GeneralName] = [
            x509.IPAddress(ipaddress.ip_address(one)) if one[0].isdigit() else x509.DNSName(one)
            for one in names or (HOST,)
        ]
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server")])
        made = self._builder(name, key, days).add_extension(
            x509.SubjectAlternativeName(named), critical=False
        )
        file = self._directory / f"server-{days}-{'-'.join(names)}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=30))
            .not_valid_after(now + timedelta(days=days))
        )


class Relay:
    """A server on a free port that forwards data in both directions.

    Attributes:
        context: its TLS context; None for no TLS.
        is_proxy: whether the first request names the target.
        refuses: status with which the proxy answers instead of connecting; None connects.
        requests: first line and Proxy-Authorization header of each request to the proxy.
    """

    def __init__(
        self, target: int = 0, context: ssl.SSLContext | None = None, *, is_proxy: bool = False
    ) -> None:
        self._target, self.context, self.is_proxy = target, context, is_proxy
        self.refuses: int | None = None
        self.requests: list[tuple[str, str]] = []
        self._listening = socket.create_server((HOST, 0))
        self.port: int = self._listening.getsockname()[1]

    @contextmanager
    def running(self) -> Iterator[Relay]:
        """Serve during the block."""
        threading.Thread(target=self._serve, daemon=True).start()
        try:
            yield self
        finally:
            self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                came, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(came,), daemon=True).start()

    def _answer(self, came: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), came:
            here = self.context.wrap_socket(came, server_side=True) if self.context else came
            first = b""
            if self.is_proxy:
                while b"\r\n\r\n" not in first:
                    first += here.recv(65536)
                port, first = self._asked(here, first)
            else:
                port = self._target
            if port:
                with here, socket.create_connection((HOST, port)) as there:
                    there.sendall(first)
                    _pass_on(here, there)

    def _asked(self, here: socket.socket, first: bytes) -> tuple[int, bytes]:
        """Return the port to which a proxy connects, 0 if it refuses, and the first bytes to send there."""
        lines = first.decode("latin-1").split("\r\n")
        said = next((one.partition(": ")[2] for one in lines if one.startswith("Proxy-Authorization")), "")
        self.requests.append((lines[0], said))
        method, where, _ = lines[0].split()
        if self.refuses:
            here.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % self.refuses)
            return 0, b""
        if method == "CONNECT":
            here.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            return int(where.rpartition(":")[2]), b""
        return urlsplit(where).port or 80, first.replace(
            where.encode(), (urlsplit(where).path or "/").encode(), 1
        )


def _pass_on(*both: socket.socket) -> None:
    """Forward data between two sockets until one ends."""
    other: dict[socket.socket, socket.socket] = dict(zip(both, reversed(both), strict=True))
    while True:
        pending: Sequence[socket.socket] = [
            one for one in both if isinstance(one, ssl.SSLSocket) and one.pending()
        ]
        for one in pending or select.select(both, [], [], 30)[0]:
            piece = one.recv(65536)
            if not piece:
                return
            other[one].sendall(piece)
