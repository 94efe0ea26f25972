"""What stands in docs/ and is made from the code is what the code makes."""

import pytest

from documentation import lifecycle, refusals
from documentation.links import DOCS
from documentation.written import written
from pickupbox.api.errors import STATUS
from pickupbox.domain import errors
from pickupbox.domain.lifecycle import TRANSITIONS, CompartmentState, Event, Stage, Status, Step, Trigger


@pytest.mark.parametrize("name", written())
def test_a_written_page_is_what_the_code_makes(name: str) -> None:
    assert (DOCS / name).read_text() == written()[name], "run `just docs`, and commit what it writes"


def test_the_pictures_show_every_status_state_stage_and_trigger() -> None:
    public, stages = lifecycle.public_picture(), lifecycle.stage_picture()
    assert [one for one in (*Status, *CompartmentState) if one not in public] == []
    shown = [stage for stage in Stage if lifecycle.face_of(stage) not in (lifecycle.HELD, lifecycle.RELEASED)]
    assert [stage for stage in shown if f">{stage}<" not in stages] == []
    assert [trigger for trigger in Trigger if lifecycle.word_of(trigger) not in public + stages] == []
    assert [event for event in Event if f"`{event}`" not in lifecycle.table()] == []
    assert lifecycle.table().count("\n") == len(TRANSITIONS) + 2


@pytest.mark.parametrize(
    ("ends", "picture"),
    [
        ((Stage.COLLECTED, Trigger.CANCEL), lifecycle.public_picture),
        ((Stage.COLLECTED, Trigger.LOAD), lifecycle.stage_picture),
    ],
)
def test_a_new_step_without_a_place_in_the_picture_is_noticed(
    ends: tuple[Stage, Trigger], picture: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(picture)
    monkeypatch.setitem(TRANSITIONS, ends, Step(Stage.FAULT if ends[1] is Trigger.CANCEL else Stage.READY))
    with pytest.raises(RuntimeError, match="does not fit the lifecycle: without a place"):
        picture()


def test_a_step_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TRANSITIONS, (Stage.COOLING, Trigger.RELEASE))
    with pytest.raises(RuntimeError, match="without an edge"):
        lifecycle.public_picture()


def test_every_code_has_its_cause_and_its_cure() -> None:
    page = refusals.page()
    assert len(refusals.known()) > 20
    for refusal in refusals.known():
        entry = page.split(f"### `{refusal.code}`")[1].split("###")[0]
        assert refusal.message().replace("<API_KEY>", "`<API_KEY>`") in entry
        assert refusal.cure().replace("<API_KEY>", "`<API_KEY>`") in entry
    assert all(any(issubclass(one, known) for known in STATUS) for one in refusals.API)


def test_a_code_that_the_page_does_not_know_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unheard(errors.Conflict):
        """It is new.

        Write it down.
        """

        code = "unheard"

    monkeypatch.setattr(errors, "Unheard", Unheard, raising=False)
    with pytest.raises(RuntimeError, match="Unheard"):
        refusals.page()
