"""The site is built strictly: what is dead, missing or forgotten fails, and says what to do."""

import json
from pathlib import Path

import pytest

from documentation import navigation, site
from pickupbox.api import openapi
from pickupbox.devices import asyncapi


@pytest.mark.parametrize(
    "link", ["0001-starlette-instead-of-fastapi.md#nowhere", "0000-nowhere.md"], ids=["heading", "page"]
)
def test_a_link_that_leads_nowhere_fails_the_build(link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "decisions_page", lambda: f"# Decisions\n\n[one]({link})\n")
    with pytest.raises(site.SiteError, match="does not exist"):
        site.build(tmp_path / "site", tmp_path / "work")
    assert not (tmp_path / "site").exists()


def test_a_page_without_a_place_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = {title: pages for title, pages in navigation.NAVIGATION.items() if title != "For operators"}
    monkeypatch.setattr(navigation, "NAVIGATION", without)
    with pytest.raises(site.SiteError, match=r"give .*operators\.md.* a place in documentation/navigation\.py"):
        site.build(tmp_path / "site", tmp_path / "work")


def test_the_site_has_the_documents_that_the_code_makes(tmp_path: Path) -> None:
    site.build(tmp_path / "site", tmp_path / "work")
    document = json.loads((tmp_path / "site" / "api" / "openapi.json").read_text())
    assert document == openapi.document("sandbox") | {"servers": [site.DEMO]}
    wire = asyncapi.document()
    assert json.loads((tmp_path / "site" / "asyncapi.json").read_text()) == wire
    messages = (tmp_path / "site" / "messages" / "index.html").read_text()
    assert [one for one in wire["channels"].values() if one["address"] not in messages] == []
    assert len(wire["channels"]) > 10
