"""Links lead to what is there, down to the heading, in the site and in the repository."""

import re
from pathlib import Path

import pytest

from documentation.links import DOCS, ROOT, DeadLinkError, place_of, with_site_links
from tests.style.sources import files, name_of

PAGES = [path for path in files() if path.suffix == ".md"]
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def anchors_of(text: str) -> set[str]:
    """Where headings can be linked to, as GitHub makes it of their words."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_anchors(page: Path, text: str) -> list[str]:
    dead = []
    for target, anchor in LINK.findall(CODE.sub("", text)):
        path = (page.parent / target).resolve() if target else page
        if anchor and "://" not in target and (not path.exists() or anchor not in anchors_of(path.read_text())):
            dead.append(f"{name_of(page)}: {target}#{anchor}")
    return dead


def test_every_link_to_a_heading_finds_it() -> None:
    assert {"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "sdk/README.md"} <= {name_of(page) for page in PAGES}
    assert [one for page in PAGES for one in dead_anchors(page, page.read_text())] == []


def test_a_heading_that_is_not_there_is_noticed() -> None:
    page = DOCS / "webhooks.md"
    assert dead_anchors(page, "[a](#nowhere) [b](../README.md#nowhere) [c](#verify)") == [
        "docs/webhooks.md: #nowhere",
        "docs/webhooks.md: ../README.md#nowhere",
    ]


def test_a_link_out_of_the_docs_becomes_a_page_of_the_site() -> None:
    text, outside = with_site_links(
        DOCS / "decisions" / "0012-the-way-out.md",
        "decisions/0012-the-way-out.md",
        "[a](../webhooks.md#verify) [b](../../examples/receiver.py) [c](../../README.md) [d](../../src/pickupbox/"
        "devices/asyncapi.py) `[e](nowhere)`",
    )
    assert re.findall(r"\((.*?)\)", text) == [
        "../webhooks.md#verify",
        "../source/examples/receiver.py.md",
        "../source/README.md",
        "../messages.md",
        "nowhere",
    ]
    assert outside == {ROOT / "examples" / "receiver.py", ROOT / "README.md"}
    assert place_of(DOCS / "decisions") == "decisions/index.md"


def test_a_dead_link_is_named() -> None:
    with pytest.raises(DeadLinkError, match=r"docs/box\.md: nowhere\.md leads nowhere"):
        with_site_links(DOCS / "box.md", "box.md", "[a](nowhere.md)")
