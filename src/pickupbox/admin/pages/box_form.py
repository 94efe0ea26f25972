"""What a person fills in about a box: read, held against its ranges, and told kindly what is wrong."""

from dataclasses import asdict
from typing import Any

from pickupbox.admin.visit import Form
from pickupbox.admin.words import _
from pickupbox.database.boxes import BoxSetup
from pickupbox.domain.box_setup import COMPARTMENTS, LENGTHS, RANGES

type Errors = dict[str, str]


def read_setup(form: Form) -> tuple[BoxSetup | None, Errors]:
    """The setup that was filled in, or what is wrong with which field."""
    errors: Errors = {}
    texts = {name: form.get(name, "") for name in LENGTHS}
    for name, longest in LENGTHS.items():
        if len(texts[name]) > longest:
            errors[name] = _("At most %(longest)s characters.") % {"longest": longest}
    if not texts["name"]:
        errors["name"] = _("Give the box a name by which people find it.")
    numbers = {name: _number(form, name, limits, errors) for name, limits in RANGES.items()}
    if errors:
        return None, errors
    return BoxSetup(texts["name"], texts["location_name"] or None, texts["address"] or None, **numbers), {}


def read_compartments(form: Form) -> tuple[int, Errors]:
    errors: Errors = {}
    return _number(form, "compartments", COMPARTMENTS, errors), errors


def filled(setup: BoxSetup) -> dict[str, Any]:
    """The setup as a form shows it."""
    return {name: "" if value is None else value for name, value in asdict(setup).items()}


def _number(form: Form, name: str, limits: tuple[int, int], errors: Errors) -> int:
    low, high = limits
    text = form.get(name, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1
    if not low <= number <= high:
        errors[name] = _("A whole number from %(low)s to %(high)s.") % {"low": low, "high": high}
    return number
