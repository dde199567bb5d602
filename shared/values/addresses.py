"""Addresses that no tracker has, but at which a cloud returns its secrets to any caller from inside."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from shared.notices.invalid import Invalid
from shared.notices.notice import Notice

NAMES = (
    "metadata.google.internal",
    "metadata.goog",
    "metadata",
    "instance-data",
    "instance-data.ec2.internal",
)
NETWORKS = {
    ip_network("169.254.0.0/16"): Invalid.LINK_LOCAL_ADDRESS,
    ip_network("fe80::/10"): Invalid.LINK_LOCAL_ADDRESS,
    ip_network("fd00:ec2::/32"): Invalid.METADATA_SERVICE,  # Amazon
    ip_network("fd20:ce::/32"): Invalid.METADATA_SERVICE,  # Google
    ip_network("100.100.100.200/32"): Invalid.METADATA_SERVICE,  # Alibaba
    ip_network("192.0.0.192/32"): Invalid.METADATA_SERVICE,  # Oracle
    ip_network("168.63.129.16/32"): Invalid.METADATA_SERVICE,  # Azure
}
NAT64 = ip_network("64:ff9b::/96")


def why_forbidden(host: str) -> Notice | None:
    """Return why a host is forbidden for a tracker, or None if it is allowed. Makes no DNS lookup.

    Args:
        host: a name, or an address in any of its notations.
    """
    name = host.strip("[]").rstrip(".").lower()
    if name in NAMES:
        return Invalid.METADATA_SERVICE(host=host)
    for address in _addresses(name):
        for network, what in NETWORKS.items():
            if address in network:
                return what(host=host)
    return None


def _addresses(name: str) -> list[IPv4Address | IPv6Address]:
    """Return the address that a notation stands for, and IPv4 addresses embedded in it; nothing for a name."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        address = ip_address(str(found[0][4][0]).split("%")[0])
    except (OSError, ValueError):
        return []
    if isinstance(address, IPv4Address):
        return [address]
    carried = [address.ipv4_mapped, address.sixtofour]
    if address in NAT64 or int(address) >> 32 == 0:
        carried.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *(one for one in carried if one is not None)]
