"""Where a webhook may go: the URLs that can be an endpoint, and the addresses that may be connected to."""

from ipaddress import IPv4Network, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.webhooks.addresses import LONGEST_URL, is_allowed, objection
from tests.webhooks.hostile import FORBIDDEN_4, FORBIDDEN_6, METADATA, PRIVATE_NAMES, PUBLIC_4, PUBLIC_6, Maker

NETWORKS = [*map(IPv4Network, FORBIDDEN_4.split()), *map(IPv6Network, FORBIDDEN_6.split())]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_no_address_of_a_special_network_is_allowed(network: IPv4Network | IPv6Network) -> None:
    middle = network[network.num_addresses // 2]
    for address in (network[0], middle, network[-1]):
        assert not is_allowed(str(address), loopback=False)


@pytest.mark.parametrize("address", METADATA)
def test_metadata_of_a_cloud_is_not_allowed(address: str) -> None:
    assert not is_allowed(address, loopback=False)
    assert not is_allowed(address, loopback=True)


@pytest.mark.parametrize("address", [*PUBLIC_4, *PUBLIC_6, "1.1.1.1", "100.63.255.255", "100.128.0.0", "11.0.0.0"])
def test_a_public_address_is_allowed(address: str) -> None:
    assert is_allowed(address, loopback=False)
    assert is_allowed(address, loopback=True)


def test_loopback_is_allowed_when_it_is_opened_and_nothing_else() -> None:
    for address in ("127.0.0.1", "127.9.8.7", "::1"):
        assert (is_allowed(address, loopback=False), is_allowed(address, loopback=True)) == (False, True)
    for address in ("::ffff:127.0.0.1", "::127.0.0.1", "::1%lo", "64:ff9b::127.0.0.1", "10.0.0.1", "0.0.0.0", "::"):  # noqa: S104
        assert not is_allowed(address, loopback=True)


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "0x7f.0.0.1", "1.1.1.01", "2130706433", "1.1.1.1 ", "::1\n"]
)
def test_what_is_not_plainly_an_address_is_not_allowed(text: str) -> None:
    assert not is_allowed(text, loopback=True)


@given(st.ip_addresses(v=6))
def test_no_address_outside_global_unicast_is_allowed(address: object) -> None:
    if is_allowed(str(address), loopback=False):
        assert address in IPv6Network("2000::/3")


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example",
        "https://shop.example/hooks?tenant=1&x=%20",
        "https://SHOP.example:8443/hook",
        "https://1.1.1.1/hook",
        "https://[2606:4700::6810:84e5]:443/",
        "https://xn--mnchen-3ya.example/",
        "https://xn--strae-oqa.example/",
        "https://my_hooks.shop.example/a",
        "https://shop.example/@me",
    ],
)
def test_a_public_https_url_can_be_an_endpoint(url: str) -> None:
    assert objection(url, loopback=False) is None
    assert objection(url, loopback=True) is None


@pytest.mark.parametrize(
    ("url", "cure"),
    [
        ("", "empty"),
        ("shop.example/hook", "begin with https://"),
        ("//shop.example/hook", "begin with https://"),
        ("http://shop.example/hook", "begin with https://"),
        ("http://1.1.1.1/hook", "begin with https://"),
        ("ftp://shop.example/hook", "begin with https://"),
        ("https:shop.example", "begin with https://"),
        ("https:/shop.example", "begin with https://"),
        ("https:///hook", "no host"),
        ("https://:443/hook", "cannot be read"),
        ("https://user@shop.example/", "user name"),
        ("https://user:word@shop.example/", "user name"),
        ("https://@shop.example/", "user name"),
        ("https://shop.example/#a", "fragment"),
        ("https://shop.example/#", "fragment"),
        ("https://shop.example/a b", "a space"),
        ("https://shop.example/\n", "a control character"),
        ("\x00https://shop.example/", "a control character"),
        ("https://shop.example\\@127.0.0.1/", "backslash"),
        ("https://shop.example/" + "a" * LONGEST_URL, "shorter"),
        ("https://shop.example:0/", "between 1 and 65535"),
        ("https://shop.example:65536/", "between 1 and 65535"),
        ("https://shop.example:/", "between 1 and 65535"),
        ("https://shop.example:+443/", "between 1 and 65535"),
        ("https://[::1/", "cannot be read"),
        ("https://[1.1.1.1]/", "cannot be read"),
        ("https://[v1.a]/", "cannot be read"),
        ("https://[fe80::1%25eth0]/", "cannot be read"),
        ("https://[2606:4700::1%eth0]/", "cannot be read"),
        ("https://a[2606:4700::1]/", "cannot be read"),
        ("https://10.0.0.1/", "public internet"),
        ("https://[::ffff:1.1.1.1]/", "public internet"),
        ("https://2130706433/", "usual form"),
        ("https://0x7f.1/", "usual form"),
        ("https://0x/", "usual form"),
        ("https://017700000001/", "usual form"),
        ("https://127.1/", "usual form"),
        ("https://1.1.1.01/", "usual form"),
        ("https://shop.example.1/", "usual form"),
        ("https://1.1.1.1./", "without"),
        ("https://shop.example./", "without"),
        ("https://shop.example../", "without"),
        ("https://shop..example/", "not a valid name"),
        ("https://-shop.example/", "not a valid name"),
        ("https://" + "a" * 64 + ".example/", "not a valid name"),
        ("https://" + "a." * 126 + "example/", "not a valid name"),
        ("https://127.0.0%2e1.example/", "not a valid name"),
        ("https://münchen.example/", "xn-- form"),
        ("https://１.1.1.1/", "xn-- form"),  # noqa: RUF001
        ("https://1。1。1。1/", "xn-- form"),
        ("https://shop.example/ü", "percent-encoded"),
        ("https://\u212aiosk.example/", "xn-- form"),  # the Kelvin sign is a plain k in lower case
        ("https://xn--a.example/", "as it is registered"),
        ("https://xn--shop-.example/", "not a valid name"),
        ("https://xn--orhc.example/", "as it is registered"),
    ],
)
def test_a_url_that_cannot_be_an_endpoint_is_refused_with_the_cure(url: str, cure: str) -> None:
    for loopback in (False, True):
        reason = objection(url, loopback=loopback)
        assert reason is not None
        assert cure in reason
        assert reason.endswith(".")


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_a_name_of_a_private_network_is_refused(name: str) -> None:
    assert objection(f"https://{name}/hook", loopback=False) is not None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "[::1]", "localhost", "LocalHost"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_loopback_can_be_an_endpoint_only_when_it_is_opened(scheme: str, host: str) -> None:
    assert objection(f"{scheme}://{host}:8080/hook", loopback=False) is not None
    assert objection(f"{scheme}://{host}:8080/hook", loopback=True) is None


@pytest.mark.parametrize("host", ["a.localhost", "127.1", "10.0.0.1", "redis", "[::ffff:127.0.0.1]", "localhost."])
def test_opening_loopback_opens_nothing_else(host: str) -> None:
    assert objection(f"http://{host}:8080/hook", loopback=True) is not None


def test_every_hostile_url_is_refused_unless_only_its_name_server_lies() -> None:
    lying = {"name", "name_6", "second_time", "mix", "redirect"}
    for case in Maker(7, ["127.0.0.1", "::1"], 8443).make(5000):
        refused = [objection(url, loopback=False) is not None for url in case.urls]
        assert all(refused) if case.kind not in lying else not any(refused), case


@given(st.text())
def test_whatever_is_typed_gets_an_answer(text: str) -> None:
    objection(text, loopback=False)
    objection(f"https://{text}", loopback=True)
    assert not is_allowed(text, loopback=True) or "." in text or ":" in text
