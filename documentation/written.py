"""What is made from the code and stands in the repository all the same, because GitHub shows it."""

import re
from collections.abc import Iterator

from documentation import lifecycle, refusals
from documentation.links import DOCS

_TABLE = re.compile(r"(?<=<!-- made: lifecycle -->\n\n).*?(?=<!-- end -->)", re.DOTALL)


def written() -> dict[str, str]:
    """Each such file under docs/, with what should be in it."""
    concepts = (DOCS / "concepts.md").read_text()
    return {
        "concepts.md": _TABLE.sub(lambda _: lifecycle.table(), concepts),
        "errors.md": refusals.page(),
        "pictures/shipment.svg": lifecycle.public_picture(),
        "pictures/stages.svg": lifecycle.stage_picture(),
    }


def write() -> Iterator[str]:
    """Write them anew; the names of those that were different."""
    for name, text in written().items():
        path = DOCS / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            yield f"docs/{name}"
