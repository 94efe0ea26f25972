"""What stands where in the site. A page of docs/ that has no place here fails the build."""

from collections.abc import Mapping, Sequence

from documentation.links import DOCS

Entry = Mapping[str, "str | Sequence[Entry]"]

NAVIGATION: dict[str, list[tuple[str, str]]] = {
    "Start": [("Welcome", "index.md"), ("Ten minutes", "quickstart.md"), ("Concepts", "concepts.md")],
    "For shops": [
        ("An example shop", "shops.md"),
        ("Python SDK", "source/sdk/README.md"),
        ("Webhooks", "webhooks.md"),
        ("Errors", "errors.md"),
        ("API reference", "reference.md"),
    ],
    "For operators": [
        ("At the box", "operators.md"),
        ("Integrations and audit", "integrations.md"),
        ("Signing in", "signing-in.md"),
    ],
    "For box builders": [("The box", "box.md"), ("The wire", "wire.md"), ("Messages", "messages.md")],
    "For the one on call": [
        ("Running it", "running.md"),
        ("Settings", "settings.md"),
        ("Secrets", "secrets.md"),
        ("The broker", "source/deploy/README.md"),
    ],
    "How it is built": [
        ("Architecture", "source/ARCHITECTURE.md"),
        ("Contributing", "source/CONTRIBUTING.md"),
        ("Changes", "source/CHANGELOG.md"),
        ("Conformance", "conformance.md"),
    ],
}


def decisions() -> list[tuple[str, str]]:
    """Every decision: its title and its page."""
    return [
        (path.read_text().split("\n", 1)[0].removeprefix("# "), f"decisions/{path.name}")
        for path in sorted((DOCS / "decisions").glob("[0-9]*.md"))
    ]


def navigation() -> list[Entry]:
    entries: list[Entry] = [{title: [{name: page} for name, page in pages]} for title, pages in NAVIGATION.items()]
    entries.append(
        {"Decisions": [{"All decisions": "decisions/index.md"}, *({title: page} for title, page in decisions())]}
    )
    return entries


def decisions_page() -> str:
    rows = "".join(f"- [{title}]({page.removeprefix('decisions/')})\n" for title, page in decisions())
    return (
        "# Decisions\n\nFor who asks why. One page each: what was decided, why, what else was weighed, with figures "
        f"where they exist.\n\n{rows}"
    )


def pages_without_a_place() -> list[str]:
    placed = {page for pages in NAVIGATION.values() for _, page in pages} | {page for _, page in decisions()}
    return sorted({path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - placed)
