"""Boxes and arrows as SVG that follows the reader's colours: the system's on GitHub, the site's own on the site."""

from dataclasses import dataclass
from html import escape

FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
CORNER = 10.0

_LIGHT = (
    "--ink:#17302e;--soft:#4f6361;--line:#6d8481;--paper:#fff;--way:#dcefeb;--way-edge:#0b6b63;--held:#fdeccb;"
    "--held-edge:#9a6205;--free:#e3f1e6;--free-edge:#2c7a4b;--tells:#0a5f58"
)
_DARK = (
    "--ink:#e6efed;--soft:#a7bab7;--line:#7f9794;--paper:#0f1a1c;--way:#17363a;--way-edge:#5fd0bf;--held:#43300d;"
    "--held-edge:#ffcf7d;--free:#123524;--free-edge:#7fe0ab;--tells:#7fdccd"
)
_STYLE = (
    f".drawn{{{_LIGHT}}}"
    f"@media(prefers-color-scheme:dark){{.drawn{{{_DARK}}}}}"
    f'[data-md-color-scheme="default"] .drawn{{{_LIGHT}}}'
    f'[data-md-color-scheme="slate"] .drawn{{{_DARK}}}'
    f".drawn text{{font:13px {FONT};fill:var(--ink)}}"
    ".drawn .name{font-weight:650;font-size:14px}"
    ".drawn .more{font-size:12px;fill:var(--soft)}"
    ".drawn .tells{font-size:12px;fill:var(--tells);font-weight:600}"
    ".drawn .halo{paint-order:stroke;stroke:var(--paper);stroke-width:5px;stroke-linejoin:round}"
    ".drawn rect{stroke-width:1.5}"
    ".drawn .way{fill:var(--way);stroke:var(--way-edge)}"
    ".drawn .held{fill:var(--held);stroke:var(--held-edge)}"
    ".drawn .free{fill:var(--free);stroke:var(--free-edge)}"
    ".drawn path{fill:none;stroke:var(--line);stroke-width:1.5}"
    ".drawn .tip,.drawn .begin{fill:var(--line);stroke:none}"
)

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Node:
    """A box with its left upper corner, its kind (way, held or free) and its lines of text."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    name: str
    more: tuple[str, ...] = ()

    def svg(self) -> str:
        middle = self.x + self.width / 2
        lines = 1 + len(self.more)
        first = self.y + self.height / 2 - (lines - 1) * 8.5 + 4.5
        texts = [f'<text class="name" x="{middle:g}" y="{first:g}" text-anchor="middle">{escape(self.name)}</text>']
        for number, line in enumerate(self.more, start=1):
            y = first + number * 17
            texts.append(f'<text class="more" x="{middle:g}" y="{y:g}" text-anchor="middle">{escape(line)}</text>')
        rect = f'<rect class="{self.kind}" x="{self.x:g}" y="{self.y:g}" width="{self.width:g}"'
        return f'{rect} height="{self.height:g}" rx="9"/>' + "".join(texts)


@dataclass(frozen=True, slots=True)
class Arrow:
    """A way along corners that are rounded, with what it says beside it, and below that the events that it tells."""

    points: tuple[Point, ...]
    says: str
    tells: tuple[str, ...]
    at: Point
    upright: bool = False

    def svg(self) -> str:
        line = f'<path d="{_rounded(self.points)}" marker-end="url(#tip)"/>'
        x, y = self.at
        told = [
            f"{'tells' if first else 'and'} {event}"
            for event, first in zip(self.tells, [True, False, False], strict=False)
        ]
        if self.upright:
            says = escape(" ".join([self.says, *told]))
            return line + f'<text class="halo" transform="translate({x:g} {y:g}) rotate(-90)">{says}</text>'
        texts = [("halo", self.says), *(("tells halo", one) for one in told)]
        return line + "".join(
            f'<text class="{kind}" x="{x:g}" y="{y + number * 16:g}">{escape(text)}</text>'
            for number, (kind, text) in enumerate(texts)
        )


def picture(name: str, title: str, told: str, size: Point, nodes: list[Node], arrows: list[Arrow]) -> str:
    """The whole drawing, which begins where its first arrow does; `told` says it in words, for who does not see it."""
    width, height = size
    tip = f"tip-{name}"
    begin = arrows[0].points[0]
    drawn = "".join([*(arrow.svg() for arrow in arrows), *(node.svg() for node in nodes)]).replace("#tip", f"#{tip}")
    return (
        f'<svg class="drawn" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-labelledby="{name}-title {name}-told">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-told">{escape(told)}</desc>'
        f"<style>{_STYLE}</style>"
        f'<defs><marker id="{tip}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>'
        f'<circle class="begin" cx="{begin[0]:g}" cy="{begin[1]:g}" r="6"/>{drawn}</svg>\n'
    )


def _rounded(points: tuple[Point, ...]) -> str:
    path = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        entering, leaving = _towards(corner, before), _towards(corner, after)
        path += f"L{entering[0]:g} {entering[1]:g}Q{corner[0]:g} {corner[1]:g} {leaving[0]:g} {leaving[1]:g}"
    return path + f"L{points[-1][0]:g} {points[-1][1]:g}"


def _towards(corner: Point, other: Point) -> Point:
    """The point where a rounded corner begins, on the straight line to its neighbour."""
    along, down = other[0] - corner[0], other[1] - corner[1]
    length = max(abs(along), abs(down))
    share = min(CORNER, length / 2) / length
    return corner[0] + along * share, corner[1] + down * share
