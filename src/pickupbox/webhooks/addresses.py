"""Where a webhook may go: which URLs can be an endpoint, and which addresses may be connected to.

Pure. `objection` judges what a tenant typed; `is_allowed` judges an address at the moment of connecting, which is
what counts: a name says nothing about where it leads.
"""

import re
import unicodedata
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

LONGEST_URL = 2048

# Written out rather than left to `is_global`, whose answers differ between versions of Python.
# Source: the IANA registries of special-purpose addresses. What is not globally reachable, and what leads elsewhere.
_NO_HOSTS_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; a cloud keeps its metadata there
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # looks public, is the inside of a cloud
        "169.254.0.0/16",  # link-local, metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; a cloud keeps its metadata there
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_UNICAST_6 = IPv6Network("2000::/3")  # all the rest is mapped, translated, local, multicast or not given out
_NO_HOSTS_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # given back
        "3fff::/20",  # documentation
    )
)
_LOOPBACK_4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_6 = IPv6Address("::1")

_VISIBLE = re.compile(r"[!-\[\]-~]+")  # ASCII without spaces, control characters and the backslash
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_AUTHORITY = re.compile(r"(?:\[(?P<address>[0-9a-f.]*:[0-9a-f:.]*)\]|(?P<name>[^\[\]:@]+))(?::(?P<port>[0-9]{1,5}))?")
_PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")
_UNREADABLE = "The URL cannot be read: write it as https://host/path, with a port between 1 and 65535 if it needs one."


def is_allowed(address: str, *, loopback: bool) -> bool:
    """Whether we may connect to this IP address: global unicast only, and loopback if that is opened."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        if parsed in _LOOPBACK_4:
            return loopback
        return parsed.is_global and not any(parsed in network for network in _NO_HOSTS_4)
    if parsed.scope_id is not None:
        return False
    if parsed == _LOOPBACK_6:
        return loopback
    return parsed in _UNICAST_6 and parsed.is_global and not any(parsed in network for network in _NO_HOSTS_6)


def objection(url: str, *, loopback: bool) -> str | None:
    """Why a URL cannot be a webhook endpoint, with the cure; None if it can."""
    if len(url) > LONGEST_URL:
        return f"The URL is longer than {LONGEST_URL} characters: use a shorter one."
    if not url.isascii():
        return "The URL has characters outside ASCII: write the host in its xn-- form and the rest percent-encoded."
    if not _VISIBLE.fullmatch(url):
        return "The URL is empty or has a space, a control character or a backslash: remove or percent-encode it."
    if "#" in url:
        return "The URL has a fragment: remove it, from the # on."
    try:
        parts = urlsplit(url)
    except ValueError:
        return _UNREADABLE
    if parts.scheme not in {"https", "http"} or not url[len(parts.scheme) :].startswith("://"):
        return "The URL must begin with https://."
    if not parts.netloc:
        return "The URL has no host: write it as https://host/path."
    if "@" in parts.netloc:
        return "The URL has a user name or password: remove it, deliveries are signed."
    authority = _AUTHORITY.fullmatch(parts.netloc.lower())
    if authority is None:
        return _UNREADABLE
    host, port = authority["address"] or authority["name"], authority["port"]
    if port is not None and not 0 < int(port) < 65536:
        return "The URL's port is not valid: use one between 1 and 65535, or none."
    wrong_host = _objection_to_host(host, bracketed=authority["address"] is not None, loopback=loopback)
    if wrong_host is not None:
        return wrong_host
    if parts.scheme == "http" and not (loopback and _is_loopback(host)):
        return "The URL must begin with https://."
    return None


def _objection_to_host(host: str, *, bracketed: bool, loopback: bool) -> str | None:
    if bracketed:
        return _objection_to_address(host, loopback=loopback)
    if host.endswith("."):
        return "The URL's host ends with a dot: write it without."
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # no top-level name is a number, and a number may be read as an address
        return _objection_to_address(host, loopback=loopback)
    if host == "localhost" and loopback:
        return None
    if len(labels) == 1 or host.endswith(_PRIVATE_ENDINGS):
        return "The URL's host is a name of a private network: use one that the public internet knows."
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return "The URL's host is not a valid name: use letters, digits, hyphens and dots."
    if not all(_is_own_form(label) for label in labels if label.startswith("xn--")):
        return "The URL's host has an xn-- part that stands for no proper name: write the host as it is registered."
    return None


def _objection_to_address(host: str, *, loopback: bool) -> str | None:
    try:
        ip_address(host)
    except ValueError:
        return "The URL's host is a number but not a plain IP address: use a name, or the address in its usual form."
    if not is_allowed(host, loopback=loopback):
        return "The URL's address is not one of the public internet: use a public name or address."
    return None


def _is_own_form(label: str) -> bool:
    """Whether an xn-- label is the one way to write its name: no full-width digits or circled letters in disguise."""
    encoded = label.removeprefix("xn--")
    try:
        name = encoded.encode("ascii").decode("punycode")
        same = name.encode("punycode").decode("ascii") == encoded
    except UnicodeError:
        return False
    return same and name.isprintable() and not name.isascii() and unicodedata.normalize("NFKC", name).lower() == name


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (is_allowed(host, loopback=True) and not is_allowed(host, loopback=False))
