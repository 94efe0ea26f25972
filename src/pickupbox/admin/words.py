"""Words in the reader's language: English in the code, the others in `locale/<language>/*.po`."""

from contextvars import ContextVar
from functools import cache
from gettext import NullTranslations
from pathlib import Path

from babel import negotiate_locale
from babel.messages.catalog import Message
from babel.messages.pofile import read_po

DEFAULT = "en"
LANGUAGES = {"en": "English", "de": "Deutsch"}
LOCALE = Path(__file__).parent / "locale"

_language: ContextVar[str] = ContextVar("language", default=DEFAULT)


class Words(NullTranslations):
    """One language's words, read from its .po files; a word that is missing stays English."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._texts: dict[str, str] = {}
        self._counted: dict[tuple[str, ...], tuple[str, ...]] = {}
        for file in sorted((LOCALE / language).glob("*.po")):
            with file.open("rb") as lines:
                for message in read_po(lines, locale=language):
                    self._learn(message)

    def _learn(self, message: Message) -> None:
        if not message.id or not message.string or message.fuzzy:
            return
        if isinstance(message.id, str):
            self._texts[message.id] = str(message.string)
        else:
            self._counted[tuple(message.id)] = tuple(message.string)

    def gettext(self, message: str) -> str:
        return self._texts.get(message, message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self._counted.get((msgid1, msgid2), (msgid1, msgid2))[n != 1]


@cache
def _words(language: str) -> Words:
    return Words(language)


def language() -> str:
    return _language.get()


def speak(language: str) -> None:
    """From here on, in this task, words are of that language."""
    _language.set(language if language in LANGUAGES else DEFAULT)


def preferred(accept_language: str) -> str:
    """What the browser asks for, as far as we speak it."""
    wanted = [part.partition(";")[0].strip().replace("-", "_") for part in accept_language[:200].split(",")]
    return negotiate_locale([one for one in wanted if one], list(LANGUAGES)) or DEFAULT


def gettext(message: str) -> str:
    return _words(language()).gettext(message)


def ngettext(one: str, many: str, count: int) -> str:
    return _words(language()).ngettext(one, many, count)


_ = gettext
