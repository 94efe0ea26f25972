"""The Jinja2 environment: everything is escaped, a name that is not there is an error, words are translated."""

from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from babel.dates import format_datetime
from babel.numbers import format_decimal
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from pickupbox.admin import static, words
from pickupbox.domain.roles import Act

if TYPE_CHECKING:
    from pickupbox.admin.visit import Visit


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("pickupbox.admin"),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n", "jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["ext.i18n.trimmed"] = True
    made.install_gettext_callables(words.gettext, words.ngettext, newstyle=True)  # type: ignore[attr-defined]
    made.globals.update(
        icon=_icon, static=static.address_of, may=_may, language=words.language, LANGUAGES=words.LANGUAGES, now=_now
    )
    made.filters.update(number=_number, utc=_utc, iso=_iso)
    return made


def render(template: str, visit: "Visit | None", **values: Any) -> str:
    """The template in the language of this task; a fragment that is sent to many has no visit."""
    return environment().get_template(template).render(visit=visit, **values)


def _icon(name: str) -> Markup:
    return Markup(static.icon(name))  # noqa: S704 - from our own package


@pass_context
def _may(context: Context, act: str) -> bool:
    visit: Visit | None = context.get("visit")
    return visit is not None and visit.may(Act(act))


def _now() -> datetime:
    return datetime.now(UTC)


def _number(value: float) -> str:
    return format_decimal(value, locale=words.language())


def _utc(at: datetime) -> str:
    """As text, for those without a script and for whoever hovers."""
    return _written(at, words.language())


@lru_cache(maxsize=10_000)  # what is live shows the same moments again and again
def _written(at: datetime, language: str) -> str:
    return f"{format_datetime(at.astimezone(UTC), 'd MMM y, HH:mm:ss', locale=language)} UTC"


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
