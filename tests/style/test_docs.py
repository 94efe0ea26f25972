"""The docs agree with the code: links, settings, metrics, log events, commands."""

import re

import prometheus_client
import pytest
from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from pickupbox import telemetry
from pickupbox.admin.faces import ICONS
from pickupbox.box.settings import PREFIX, read_settings
from pickupbox.database.partitions import PARTITIONED
from pickupbox.settings import Settings
from tests.style.sources import PACKAGE, ROOT, files, modules, name_of

PAGES = [path for path in files() if path.suffix == ".md"]
RUNNING = (ROOT / "docs" / "running.md").read_text()
METRICS = {
    name: metric
    for name, metric in vars(telemetry).items()
    if isinstance(metric, prometheus_client.metrics.MetricWrapperBase)
}


def test_every_relative_link_leads_somewhere() -> None:
    links = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", page.read_text())
        if not target.startswith(("https://", "http://"))
    ]
    assert len(links) > 10
    assert [f"{name_of(page)}: {target}" for page, target in links if not (page.parent / target).exists()] == []


def test_the_table_of_settings_is_that_of_the_code() -> None:
    rows = re.findall(
        r"^\| `(PICKUPBOX_\w+)` \| `?([^|`]*)`? \| ", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE
    )
    defaults = {
        f"PICKUPBOX_{name.upper()}": "required" if field.default is PydanticUndefined else str(field.default)
        for name, field in Settings.model_fields.items()
    }
    assert dict(rows) == defaults
    assert len(rows) == len(defaults)


def test_the_table_of_partitions_is_that_of_the_code() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (\d+) days?, \S[^|]* \| (\d+) \| (\d+|never)(?: days)? \|$", RUNNING, re.MULTILINE
    )
    assert rows == [(one.table, str(one.days), str(one.ahead), str(one.keep or "never")) for one in PARTITIONED]


def test_every_metric_is_explained_to_the_person_on_call() -> None:
    explained = re.findall(r"^\| `(pickupbox_\w+)` \| ([\w, ]*) ?\| \S", RUNNING, re.MULTILINE)
    expected = {}
    for metric in METRICS.values():
        (described,) = metric.describe()
        name = described.name + ("_total" if described.type == "counter" else "")
        expected[name] = ", ".join(metric._labelnames)
    assert {name: labels.strip() for name, labels in explained} == expected


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_counted_somewhere(name: str) -> None:
    others = [path for path in modules() if path != PACKAGE / "telemetry.py"]
    assert any(re.search(rf"\b{name}\.", path.read_text()) for path in others)


def test_every_log_event_is_explained_to_the_person_on_call() -> None:
    written = {
        (event, level)
        for path in modules()
        for level, event in re.findall(r"\blog\.(\w+)\(\s*\"(\w+)\"", path.read_text())
    }
    explained = {
        (event, level)
        for cells, level in re.findall(r"^\| (`[a-z_`, ]+`) \| (error|warning|info) \| \S", RUNNING, re.MULTILINE)
        for event in re.findall(r"`(\w+)`", cells)
    }
    assert len(written) > 5
    assert explained == written


def test_every_just_command_of_the_docs_exists() -> None:
    recipes = set(re.findall(r"^([a-z]+)(?: [^:\n]*)?:(?!=)", (ROOT / "justfile").read_text(), re.MULTILINE))
    said = {word for page in PAGES for word in re.findall(r"(?:`|&& |^)just ([a-z]+)", page.read_text(), re.MULTILINE)}
    assert {"setup", "demo", "check", "test"} <= said
    assert said - recipes == set()


def test_a_wrong_secret_is_named_but_never_shown() -> None:
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate({"environment": "sandbox", "secrets": "k1:tooshortasecret"})
    assert "PICKUPBOX_SECRETS" in "".join(f"PICKUPBOX_{error['loc'][0]}".upper() for error in refused.value.errors())
    assert "tooshortasecret" not in str(refused.value)


def test_the_table_of_the_boxs_settings_is_that_of_the_code() -> None:
    page = (ROOT / "docs" / "box.md").read_text()
    said = dict(re.findall(rf"^\| `{PREFIX}(\w+)` \| (.+?) \| \S", page, re.MULTILINE))
    source = (PACKAGE / "box" / "settings.py").read_text()
    assert set(said) == set(re.findall(r'(?:given\.get\(|\(given, )"(\w+)"', source))
    needed = {f"{PREFIX}DEVICE": "dev_c1_" + "0" * 32, f"{PREFIX}COMPARTMENTS": "A1"}
    assert {f"{PREFIX}{name}" for name, default in said.items() if default == "required"} == set(needed)
    defaults = {f"{PREFIX}{name}": default.strip("`") for name, default in said.items() if default.startswith("`")}
    assert len(defaults) > 5
    assert read_settings(needed | defaults) == read_settings(needed)


def test_the_reasons_that_a_box_gives_are_explained() -> None:
    page = (ROOT / "docs" / "wire.md").read_text()
    tables = re.findall(r"^\| reason of `\w+` \| when \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    explained = {reason for table in tables for reason in re.findall(r"^\| `(\w+)` \| \S", table, re.MULTILINE)}
    source = "".join(path.read_text() for path in modules() if path.parent == PACKAGE / "box")
    given = {
        word
        for said in re.findall(r"(?:refused\(door, command|_failed\(door|Happening\.STARTED), (.+)\)", source)
        for word in re.findall(r'"(\w+)"', said)
    } | set(re.findall(r'return "(\w+)"', source[source.index("def _why_not") :].partition("\n\n")[0]))
    assert len(tables) == 3
    assert explained == given


def test_the_operators_page_explains_the_doors_as_the_legend_does() -> None:
    legend = (PACKAGE / "admin" / "templates" / "box" / "legend.html").read_text()
    words = re.findall(r'fill-\w+">.*?\{% trans %\}(.+?)\{% endtrans %\}', legend)
    table = (ROOT / "docs" / "operators.md").read_text().partition("| the fill")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| [^|-]+ \| ([^|]+) \|", table, re.MULTILINE)
    assert len(words) == len(ICONS)
    assert [row[: len(word)] for row, word in zip(rows, words, strict=True)] == words
