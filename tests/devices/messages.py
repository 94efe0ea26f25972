"""Messages of every kind, made from the types of their fields."""

from datetime import UTC, datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from hypothesis import strategies as st

from pickupbox.devices.messages import MESSAGES, Message
from pickupbox.devices.values import EARLIEST, FORMS, LATEST, NUMBERS_END
from pickupbox.devices.wire import hints_of

# Short enough that every message stays below the limit of its bytes.
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)
_TIMES = st.datetimes(EARLIEST.replace(tzinfo=None), LATEST.replace(tzinfo=None)).map(
    lambda moment: min(moment, datetime(2999, 12, 31)).replace(  # noqa: DTZ001 - the zone follows
        microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC
    )
)


def messages() -> st.SearchStrategy[Message]:
    return st.sampled_from(MESSAGES).flatmap(
        lambda kind: st.fixed_dictionaries(
            {name: values(name, hint, kind.least) for name, hint in hints_of(kind).items()}
        ).map(lambda given: kind(**given))
    )


def values(name: str, kind: Any, least: int) -> st.SearchStrategy[Any]:
    if isinstance(kind, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
        return st.none() | values(name, kind, least)
    if get_origin(kind) is list:
        return st.lists(values(name, get_args(kind)[0], least), max_size=20)
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(least, NUMBERS_END - 1)
    if kind is datetime:
        return _TIMES
    if issubclass(kind, StrEnum):
        return st.sampled_from(kind)
    return st.from_regex(FORMS[name], fullmatch=True) if name in FORMS else _TEXTS
