"""Hostile endpoints, made from a seed: the known ways to make a forbidden place look like another."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from random import Random

PUBLIC_4 = ["93.184.215.14", "8.8.4.4", "151.101.1.69", "185.199.108.153"]
PUBLIC_6 = ["2606:4700::6810:84e5", "2a00:1450:4001:82a::200e"]
REDIRECTS = "redirects.shop.example"

FORBIDDEN_4 = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
    192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
"""
FORBIDDEN_6 = """
    ::/96 ::1/128 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/32 2001:2::/48 2001:10::/28
    2001:20::/28 2001:db8::/32 2002::/16 3fff::/20 4000::/3 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8
"""
METADATA = ["169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"]
PRIVATE_NAMES = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "metadata.google.internal",
    "printer.local",
    "router.home.arpa",
    "kubernetes.default.svc.cluster.local",
    "intranet",
    "redis",
]
_FULL_WIDTH = {ord("0") + at: 0xFF10 + at for at in range(10)}
_CIRCLED = {ord("0"): "⓪"} | {ord("1") + at: chr(0x2460 + at) for at in range(9)}
_BOLD = {ord("0") + at: 0x1D7CE + at for at in range(10)}
_LETTERS = {ord("a") + at: 0xFF41 + at for at in range(26)}


@dataclass(frozen=True)
class Hostile:
    kind: str
    urls: tuple[str, ...]  # posted to one after the other
    names: dict[str, list[list[str]]] = field(default_factory=dict)


class Maker:
    """Makes hostile endpoints that lead to the given local addresses and to other forbidden ones."""

    def __init__(self, seed: int, places: list[str], port: int) -> None:
        self._random = Random(seed)  # noqa: S311 - the same ones every time
        self._places_4 = [place for place in places if ":" not in place]
        self._places_6 = [place for place in places if ":" in place]
        self._port = port
        self._count = 0

    def make(self, count: int) -> Iterator[Hostile]:
        kinds: list[Callable[[], Hostile]] = [
            self.literal,
            self.literal_6,
            self.metadata,
            self.mapped,
            self.translated,
            self.six_to_four,
            self.zone,
            self.number,
            self.short_number,
            self.user_info,
            self.unicode,
            self.escaped,
            self.private_name,
            self.other_scheme,
            self.name,
            self.name_6,
            self.second_time,
            self.mix,
            self.redirect,
        ]
        seen: set[tuple[str, ...]] = set()
        for kind in itertools.cycle(kinds):  # some kinds run dry, others never do
            if len(seen) == count:
                return
            made = kind()
            if made.urls not in seen:
                seen.add(made.urls)
                yield made

    def _v4(self) -> str:
        if self._random.random() < 0.5:
            return self._random.choice(self._places_4)
        network = IPv4Network(self._random.choice(FORBIDDEN_4.split()))
        return str(network[self._random.randrange(network.num_addresses)])

    def _v6(self) -> str:
        if self._places_6 and self._random.random() < 0.5:
            return self._random.choice(self._places_6)
        network = IPv6Network(self._random.choice(FORBIDDEN_6.split()))
        return str(network[self._random.randrange(network.num_addresses)])

    def _name(self) -> str:
        self._count += 1
        return f"h{self._count}.shop.example"

    def _url(self, host: str, scheme: str = "https") -> str:
        return f"{scheme}://{host}:{self._port}/hook"

    def literal(self) -> Hostile:
        return Hostile("literal", (self._url(self._v4()),))

    def literal_6(self) -> Hostile:
        address = IPv6Address(self._v6())
        return Hostile("literal_6", (self._url(f"[{self._random.choice([str(address), address.exploded])}]"),))

    def metadata(self) -> Hostile:
        address = self._random.choice(METADATA)
        return Hostile("metadata", (self._url(f"[{address}]" if ":" in address else address),))

    def mapped(self) -> Hostile:
        address = self._v4()
        number = int(IPv4Address(address))
        forms = [f"::ffff:{address}", f"::{address}", f"::ffff:{number >> 16:x}:{number & 65535:x}"]
        forms += [f"::ffff:0:{address}", f"0:0:0:0:0:FFFF:{address}"]
        return Hostile("mapped", (self._url(f"[{self._random.choice(forms)}]"),))

    def translated(self) -> Hostile:
        address = self._v4()
        prefix = self._random.choice(["64:ff9b::", "64:ff9b:1::", "64:ff9b:1:7f00::", "0064:FF9B::"])
        return Hostile("nat64", (self._url(f"[{prefix}{address}]"),))

    def six_to_four(self) -> Hostile:
        number = int(IPv4Address(self._v4()))
        inverted = number ^ 0xFFFFFFFF
        teredo = f"2001:0:4136:e378:8000:63bf:{inverted >> 16:x}:{inverted & 65535:x}"
        forms = [f"2002:{number >> 16:x}:{number & 65535:x}::1", teredo]
        return Hostile("6to4", (self._url(f"[{self._random.choice(forms)}]"),))

    def zone(self) -> Hostile:
        address = self._random.choice(["fe80::1", "::1", "2606:4700::1111", *self._places_6])
        return Hostile(
            "zone", (self._url(f"[{address}%{self._random.choice(['eth0', '25eth0', '1', '25lo', 'lo'])}]"),)
        )

    def number(self) -> Hostile:
        number = int(IPv4Address(self._v4()))
        forms = [f"{number}", f"0{number:o}", f"0x{number:x}", f"0X{number:08X}", f"{number}.", f"{number + (1 << 32)}"]
        return Hostile("number", (self._url(self._random.choice(forms)),))

    def short_number(self) -> Hostile:
        parts = list(IPv4Address(self._v4()).packed)
        written = [self._random.choice([f"{part}", f"0{part:o}", f"0x{part:x}", f"{part:04o}"]) for part in parts]
        rest_3, rest_2 = parts[2] * 256 + parts[3], (parts[1] * 256 + parts[2]) * 256 + parts[3]
        forms = [f"{written[0]}.{rest_2}", f"{written[0]}.{written[1]}.{rest_3:#x}", ".".join(written)]
        forms += [".".join(map(str, parts)) + ".", f"0{parts[0]:o}." + ".".join(written[1:])]
        return Hostile("short_number", (self._url(self._random.choice(forms)),))

    def user_info(self) -> Hostile:
        place, public = f"{self._v4()}:{self._port}", self._random.choice(["shop.example", PUBLIC_4[0]])
        forms = [
            f"{public}@{place}",
            f"{public}:443@{place}",
            f"user:pass@{place}",
            f"@{place}",
            f"{public}%40@{place}",
        ]
        forms += [f"{public}\\@{place}", f"{place}\\@{public}", f"{public}#@{place}", f"{public} @{place}"]
        forms += [f"{place}#@{public}", f"{place}\t@{public}", f"{place}\r\n@{public}", f"{public}@@{place}"]
        return Hostile("user_info", (f"https://{self._random.choice(forms)}/hook",))

    def unicode(self) -> Hostile:
        address = self._v4()
        tables = [_FULL_WIDTH, _CIRCLED, _BOLD]
        written = address.translate(self._random.choice(tables))
        forms = [written, written.replace(".", self._random.choice("。．｡․")), "localhost".translate(_LETTERS)]  # noqa: RUF001
        forms += ["lo\u00adcalhost", "local\u200bhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "loca\u2113host", address.replace(".", "。")]
        forms += ["xn--" + written.encode("punycode").decode().replace(".", "-"), f"[{'::１'}]"]  # noqa: RUF001
        return Hostile("unicode", (self._url(self._random.choice(forms)),))

    def escaped(self) -> Hostile:
        address = self._v4()
        forms = ["".join(f"%{ord(sign):02x}" for sign in address), address.replace(".", "%2e"), "%6cocalhost"]
        forms += [f"{address}%00.shop.example", f"{address}%2f.shop.example", f"{address}%23", f"{address}%3f"]
        return Hostile("escaped", (self._url(self._random.choice(forms)),))

    def private_name(self) -> Hostile:
        return Hostile("private_name", (self._url(self._random.choice(PRIVATE_NAMES)),))

    def other_scheme(self) -> Hostile:
        scheme = self._random.choice(
            ["http", "ws", "wss", "tcp", "ftp", "gopher", "file", "unix", "HTTP", "http+https"]
        )
        return Hostile("scheme", (self._url(self._random.choice([self._v4(), self._name()]), scheme),))

    def name(self) -> Hostile:
        name = self._name()
        return Hostile("name", (self._url(name),), {name: [[self._v4()]]})

    def name_6(self) -> Hostile:
        name = self._name()
        zone = self._random.choice(["", "", "%lo"])
        return Hostile("name_6", (self._url(name),), {name: [[self._v6() + zone]]})

    def second_time(self) -> Hostile:
        """Public when it is first asked for, forbidden when it is asked for again (by another port)."""
        name = self._name()
        answers = [[self._random.choice(PUBLIC_4)], [self._random.choice([self._v4(), self._v6()])]]
        return Hostile("second_time", (f"https://{name}/hook", self._url(name), self._url(name)), {name: answers})

    def mix(self) -> Hostile:
        name = self._name()
        mixed = [
            self._random.choice(PUBLIC_4 + PUBLIC_6),
            self._v4(),
            self._v6(),
            self._v4(),
            self._random.choice(PUBLIC_4),
        ]
        self._random.shuffle(mixed)
        return Hostile("mix", (self._url(name),), {name: [mixed]})

    def redirect(self) -> Hostile:
        """A proper receiver that answers with the way to a forbidden place, as the path says it."""
        to = f"{self._random.choice(['http', 'https'])}/{self._v4()}/{self._port}"
        status = self._random.choice([301, 302, 303, 307, 308])
        return Hostile("redirect", (f"https://{REDIRECTS}/{status}/{to}",), {REDIRECTS: [[PUBLIC_4[0]]]})
