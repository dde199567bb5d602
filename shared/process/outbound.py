"""Connections to other servers: trusted certificates, the proxy, and in words why a server was not reached.

All HTTP clients use it, for Redmine, GLPI and an OpenID provider.
"""

from __future__ import annotations

import base64
import errno
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

import certifi
from pydantic import SecretStr

from shared.notices.faults import Detail
from shared.notices.notice import Notice

if TYPE_CHECKING:
    from shared.process.settings import Settings

LOOKED_AT_S = 2.0
"""Seconds for a server to show its refused certificate once more."""

LARGEST_HEAD = 16 * 1024
EXPIRED, EARLY, OTHER_NAMES = 10, 9, (62, 64)
UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)
"""OpenSSL's error numbers (X509_V_ERR_…) for refused certificates."""

NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH)


class ProxyRefused(OSError):
    """The proxy does not connect to the server.

    Args:
        proxy: its host and port.
        status: its answer.
    """

    def __init__(self, proxy: str, status: str) -> None:
        self.proxy, self.status = proxy, status
        super().__init__(f"{proxy} answered {status}")


@dataclass(frozen=True, slots=True)
class Outbound:
    """How to connect to other servers.

    Attributes:
        ca_file: file of certificate authorities that are trusted in addition to the system's.
        proxy: address of an HTTP proxy, with user and password if it needs them.
        no_proxy: hosts that are called directly; `.example.org` means the domain and its subdomains.
    """

    ca_file: str | None = None
    proxy: SecretStr | None = None
    no_proxy: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Outbound:
        """Return the instance that the settings describe."""
        return cls(settings.ca_file, settings.proxy_url, settings.no_proxy)

    def tls(self, *, verify: bool = True) -> ssl.SSLContext:
        """Return the TLS context that checks a server's certificate.

        Args:
            verify: whether to check it at all.
        """
        context = ssl.create_default_context(cafile=None if _has_authorities() else certifi.where())
        if self.ca_file:
            context.load_verify_locations(cafile=self.ca_file)
        context.set_alpn_protocols(["http/1.1"])
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def proxy_for(self, host: str) -> SplitResult | None:
        """Return the proxy for a host, or None if the host is called directly."""
        if self.proxy is None or any(
            host == one.removeprefix(".") or (one.startswith(".") and host.endswith(one))
            for one in self.no_proxy
        ):
            return None
        return urlsplit(self.proxy.get_secret_value())


DIRECT = Outbound()
"""No proxy, and only the system's authorities."""


def _has_authorities() -> bool:
    """Return whether this machine has a list of authorities, or SSL_CERT_FILE or SSL_CERT_DIR names one."""
    paths = ssl.get_default_verify_paths()
    directory = Path(paths.capath) if paths.capath else None
    return bool(paths.cafile) or (directory is not None and directory.is_dir() and any(directory.iterdir()))


def authorization(proxy: SplitResult) -> str | None:
    """Return the value of Proxy-Authorization for a proxy, or None if its address names no user."""
    if proxy.username is None:
        return None
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def tunnel(sock: socket.socket, proxy: SplitResult, host: str, port: int) -> None:
    """Have a proxy connect to a server; the socket's own time-out applies.

    Args:
        sock: connected to the proxy.
        proxy: the proxy.
        host: the server's name.
        port: the server's port.

    Raises:
        ProxyRefused: if the proxy refuses or closes the connection.
        OSError: if it does not answer.
    """
    named = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {named} HTTP/1.1", f"Host: {named}"]
    if (said := authorization(proxy)) is not None:
        lines.append(f"Proxy-Authorization: {said}")
    sock.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
    head = b""
    while b"\r\n\r\n" not in head:
        piece = sock.recv(1)  # later bytes are the server's
        if not piece or len(head) > LARGEST_HEAD:
            raise ProxyRefused(f"{proxy.hostname}:{proxy.port}", "nothing")
        head += piece
    status = head.split(b" ", 2)[1:2]
    if status != [b"200"]:
        answered = status[0].decode("latin-1")[:3] if status else "nothing"
        raise ProxyRefused(f"{proxy.hostname}:{proxy.port}", answered)


def why_unreachable(error: BaseException, address: str, outbound: Outbound) -> Notice | None:
    """Return in words why a server was not reached, with its host.

    Args:
        error: the error, raised by any library.
        address: the server's URL.
        outbound: how it was called.

    Returns:
        The cause, or None if there are no words for it.
    """
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    proxy = outbound.proxy_for(host)
    at = (proxy.hostname or "", proxy.port or 3128) if proxy else (host, port)
    for one in _causes(error):
        if isinstance(one, ssl.SSLCertVerificationError):
            return _of_certificate(one, host, port, outbound)
        if isinstance(one, ProxyRefused):
            return Detail.PROXY_REFUSED(proxy=one.proxy, host=host, status=one.status)
        if isinstance(one, ssl.SSLError):
            return Detail.TLS_FAILED(host=host, error=getattr(one, "reason", None) or type(one).__name__)
        if isinstance(one, socket.gaierror):
            code = Detail.NAME_UNKNOWN if one.errno in NO_SUCH_NAME else Detail.NAME_NOT_RESOLVED
            return code(host=at[0])
        if isinstance(one, ConnectionRefusedError):
            return Detail.CONNECTION_REFUSED(host=at[0], port=at[1])
        if isinstance(one, TimeoutError):
            return Detail.NOT_CONNECTED_IN_TIME(host=at[0], port=at[1])
        if isinstance(one, OSError) and one.errno in NO_ROUTE:
            return Detail.NO_ROUTE(host=at[0])
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all errors inside it: libraries wrap the system's errors several times."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop(0)
        if one in seen:
            continue
        seen.append(one)
        yield one
        inner = (*one.args, getattr(one, "reason", None), one.__cause__, one.__context__)
        waiting += [each for each in inner if isinstance(each, BaseException)]


def _of_certificate(error: ssl.SSLCertVerificationError, host: str, port: int, outbound: Outbound) -> Notice:
    code = getattr(error, "verify_code", 0)
    if code in UNKNOWN_AUTHORITY:
        return Detail.CERTIFICATE_OF_UNKNOWN_AUTHORITY(host=host)
    if code not in (EXPIRED, EARLY, *OTHER_NAMES):
        return Detail.CERTIFICATE_REFUSED(host=host, error=getattr(error, "verify_message", "?"))
    shown = _certificate(host, port, outbound)
    if code in OTHER_NAMES:
        return Detail.CERTIFICATE_OF_ANOTHER(host=host, names=shown.names if shown else None)
    if code == EXPIRED:
        return Detail.CERTIFICATE_EXPIRED(host=host, date=shown.ends if shown else None)
    return Detail.CERTIFICATE_NOT_YET_VALID(host=host, date=shown.begins if shown else None)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The validity and the names of a certificate."""

    begins: str
    ends: str
    names: list[str] | None


def _certificate(host: str, port: int, outbound: Outbound) -> _Shown | None:
    """Return the data of a server's certificate, without a request to it, or None if it shows none now."""
    from cryptography import x509

    proxy = outbound.proxy_for(host)
    at = (proxy.hostname or "", proxy.port or 3128) if proxy else (host, port)
    try:
        with socket.create_connection(at, timeout=LOOKED_AT_S) as sock:
            if proxy:
                tunnel(sock, proxy, host, port)
            with outbound.tls(verify=False).wrap_socket(sock, server_hostname=host) as secured:
                shown = x509.load_der_x509_certificate(secured.getpeercert(binary_form=True) or b"")
        try:
            named = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            names = [str(one.value) for one in named]
        except x509.ExtensionNotFound:
            names = []
    except (OSError, ValueError):
        return None
    begins, ends = shown.not_valid_before_utc, shown.not_valid_after_utc
    return _Shown(f"{begins:%Y-%m-%d %H:%M} UTC", f"{ends:%Y-%m-%d %H:%M} UTC", names or None)
