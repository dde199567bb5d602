"""The source of a request: its address, or for IPv6 its network, and whether an address is one of our proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network

IPV6_NEIGHBOURS = 64
"""Bits of an IPv6 address that identify the network; its owner can choose the rest freely."""


@lru_cache
def source_of(client: str) -> str:
    """Return the source to which a client's address belongs."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(address), IPV6_NEIGHBOURS), strict=False))
    return str(address)


def is_among(client: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    """Return whether an address belongs to one of the networks."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return False
    return any(address in network for network in networks)
