"""Every word that a page shows is there in every language."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

import pickupbox.admin
from pickupbox.admin.words import DEFAULT, LANGUAGES, LOCALE
from pickupbox.domain.errors import Refusal

SOURCE = Path(pickupbox.admin.__file__).parent
OTHERS = sorted(set(LANGUAGES) - {DEFAULT})
# Refusals that only the API gives, and those for which a page has words of its own by their status.
API_ONLY = {"invalid_request", "invalid_api_key", "rate_limited", "validation_failed", "event_not_found"}
BY_STATUS = {"not_found", "method_not_allowed", "internal_error", "temporarily_unavailable"}

type Text = str | tuple[str, ...]


def used() -> set[Text]:
    """What the code says: in templates, in Python, and in refusals that a page can show."""
    methods = [("templates/**.html", "jinja2.ext.babel_extract"), ("**.py", "python")]
    options = {"templates/**.html": {"trimmed": "true", "silent": "false", "newstyle_gettext": "true"}}
    found = extract_from_dir(SOURCE, methods, options, keywords={"_": None, "gettext": None, "ngettext": (1, 2)})
    return {message for _, _, message, _, _ in found} | set(refusals())


def refusals(base: type[Refusal] = Refusal) -> Iterator[str]:
    for kind in base.__subclasses__():
        if vars(kind).get("code", "") not in ("", *API_ONLY, *BY_STATUS):
            yield from (kind.message(), kind.cure())
        yield from refusals(kind)


def translated(language: str) -> dict[Text, list[str]]:
    words: dict[Text, list[str]] = {}
    for file in sorted((LOCALE / language).glob("*.po")):
        with file.open("rb") as lines:
            catalog: Catalog = read_po(lines, locale=language, abort_invalid=True)
        for message in catalog:
            if message.id:
                forms = [message.string] if isinstance(message.string, str) else list(message.string)
                words[message.id if isinstance(message.id, str) else tuple(message.id)] = forms
    return words


@pytest.mark.parametrize("language", OTHERS)
def test_every_word_is_translated(language: str) -> None:
    words = translated(language)
    assert sorted(map(str, (text for text in used() if not all(words.get(text, [""]))))) == []


@pytest.mark.parametrize("language", OTHERS)
def test_no_translation_is_left_of_what_nobody_says_any_more(language: str) -> None:
    assert sorted(map(str, set(translated(language)) - used())) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_placeholders_of_its_original(language: str) -> None:
    for text, forms in translated(language).items():
        originals = [text] if isinstance(text, str) else list(text)
        wanted = {name for original in originals for name in placeholders(original)}
        assert all(placeholders(form) <= wanted for form in forms), text
        assert placeholders(forms[-1]) == placeholders(originals[-1]), text


def placeholders(text: str) -> set[str]:
    return {part.partition(")s")[0] for part in text.split("%(")[1:]}
