"""One door, over all histories of readings and commands."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pickupbox.box.doors import (
    DEBOUNCE_SECONDS,
    TRIES,
    TRY_SECONDS,
    Door,
    DoorState,
    Happened,
    Step,
    commanded,
    looked,
    released,
    restarted,
    rests,
)
from pickupbox.domain.doors import Happening

LOOK = 0.1


@dataclass
class Story:
    """A door that is driven as the cabinet drives it, and what was said of it."""

    door: Door = field(default_factory=lambda: Door("A1"))
    now: float = 100.0
    board_answers: bool = True
    releases: int = 0
    said: list[Happened] = field(default_factory=list)

    def take(self, step: Step) -> None:
        self.door = step.door
        self.said += step.happened
        if step.release and self.board_answers:
            self.releases += 1
            self.take(released(self.door))

    def open(self, command: str) -> None:
        self.take(commanded(self.door, command, self.now))

    def read(self, is_open: bool | None, seconds: float = LOOK) -> None:
        for _ in range(round(seconds / LOOK)):
            self.now += LOOK
            step = looked(self.door, is_open, self.now)
            assert not rests(self.door, is_open) or step == Step(self.door)
            self.take(step)

    @property
    def happenings(self) -> list[tuple[str, str | None]]:
        return [(one.happening.value, one.command) for one in self.said]


def test_a_commanded_door_says_unlocked_opened_closed_in_this_order() -> None:
    story = Story()
    story.open("c1")
    story.read(is_open=True, seconds=2)
    story.read(is_open=False, seconds=2)
    assert story.happenings == [("unlocked", "c1"), ("door_opened", "c1"), ("door_closed", "c1")]
    assert (story.door, story.releases) == (Door("A1"), 1)


def test_a_door_that_nobody_commanded_is_reported_without_a_command() -> None:
    story = Story()
    story.read(is_open=True, seconds=1)
    story.read(is_open=False, seconds=1)
    assert story.happenings == [("door_opened", None), ("door_closed", None)]
    assert story.releases == 0


def test_a_lock_that_does_not_open_is_tried_three_times_and_then_failed() -> None:
    story = Story()
    story.open("c1")
    story.read(is_open=False, seconds=TRIES * TRY_SECONDS - 0.5)
    assert (story.releases, story.happenings) == (TRIES, [("unlocked", "c1")])
    story.read(is_open=False, seconds=1)
    assert story.said[1:] == [Happened(Happening.LOCK_FAILED, "A1", "c1", "did_not_open")]
    assert (story.releases, story.door.state) == (TRIES, DoorState.CLOSED)


def test_a_board_that_stood_still_between_two_tries_does_not_try_again() -> None:
    story = Story()
    story.open("c1")
    story.read(is_open=False, seconds=1)
    story.now += 3600  # whoever waited before the door is gone
    story.read(is_open=False)
    assert story.said[1:] == [Happened(Happening.LOCK_FAILED, "A1", "c1", "did_not_open")]
    assert story.releases == 1


def test_a_board_that_is_silent_fails_the_lock_without_saying_unlocked() -> None:
    story = Story(board_answers=False)
    story.open("c1")
    story.read(None, seconds=TRIES * TRY_SECONDS + 1)
    assert story.said == [Happened(Happening.LOCK_FAILED, "A1", "c1", "no_answer")]


def test_a_door_that_opens_at_the_second_try_has_not_failed() -> None:
    story = Story()
    story.open("c1")
    story.read(is_open=False, seconds=TRY_SECONDS + 1)
    story.read(is_open=True, seconds=20)
    assert story.happenings == [("unlocked", "c1"), ("door_opened", "c1")]
    assert story.releases == 2


def test_a_reading_shorter_than_the_debounce_is_nothing() -> None:
    story = Story()
    for _ in range(20):
        story.read(is_open=True, seconds=0.2)
        story.read(is_open=False, seconds=0.1)
    assert story.said == []


def test_an_open_or_opening_door_refuses_another_command() -> None:
    story = Story()
    story.open("c1")
    story.open("c2")
    story.read(is_open=True, seconds=1)
    story.open("c3")
    story.read(is_open=False, seconds=1)
    refusals = [(one.command, one.reason) for one in story.said if one.happening is Happening.COMMAND_REFUSED]
    assert refusals == [("c2", "door_opening"), ("c3", "door_open")]
    assert story.happenings[-1] == ("door_closed", "c1")
    assert story.releases == 1


def test_after_a_restart_the_difference_is_reported_and_no_lock_released() -> None:
    closed, opening, opened = (Door("A1", state, "c1") for state in DoorState)
    assert [one.happening.value for one in restarted(opening, is_open=True).happened] == ["door_opened"]
    assert restarted(opening, is_open=False).happened == (Happened(Happening.LOCK_FAILED, "A1", "c1", "restarted"),)
    assert restarted(opened, is_open=False).happened == (Happened(Happening.DOOR_CLOSED, "A1", "c1"),)
    assert restarted(opened, is_open=True) == Step(opened)
    assert restarted(Door("A1"), is_open=True).happened == (Happened(Happening.DOOR_OPENED, "A1"),)
    assert restarted(closed, is_open=False) == Step(closed)
    assert not any(restarted(door, is_open=None).release for door in (closed, opening, opened))


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.sampled_from([True, False, None]), st.sampled_from([0.1, 0.2, 0.3, 1.0, 4.0])),
        st.tuples(st.just("open"), st.none(), st.none()),
        st.tuples(st.just("board"), st.booleans(), st.none()),
        st.tuples(st.just("restart"), st.booleans(), st.none()),
    ),
    max_size=40,
)


@given(ACTS)
def test_in_every_history_each_command_ends_once_and_openings_and_closings_take_turns(
    acts: list[tuple[str, bool | None, float | None]],
) -> None:
    story, given_ = Story(), 0
    for act, value, seconds in acts:
        match act:
            case "read":
                story.read(value, seconds or LOOK)
            case "open":
                given_ += 1
                story.open(f"c{given_}")
            case "board":
                story.board_answers = bool(value)
            case "restart":
                kept = Door("A1", story.door.state, story.door.command)
                story.take(restarted(kept, value))
    swings = [one for one in story.said if one.happening in (Happening.DOOR_OPENED, Happening.DOOR_CLOSED)]
    assert [one.happening for one in swings] == [Happening.DOOR_OPENED, Happening.DOOR_CLOSED] * (len(swings) // 2) + (
        [Happening.DOOR_OPENED] if len(swings) % 2 else []
    )
    assert (story.door.state is DoorState.OPEN) == (len(swings) % 2 == 1)
    for closing, opening in zip(swings[1::2], swings[::2], strict=False):
        assert closing.command == opening.command
    ends = {Happening.DOOR_OPENED, Happening.LOCK_FAILED, Happening.COMMAND_REFUSED}
    for number in range(1, given_ + 1):
        mine = [one.happening for one in story.said if one.command == f"c{number}"]
        under_way = story.door.state is DoorState.RELEASING and story.door.command == f"c{number}"
        assert sum(happening in ends for happening in mine) == (0 if under_way else 1)
        assert mine.count(Happening.UNLOCKED) <= 1
    assert story.releases <= given_ * TRIES


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_door_follows_its_sensor_once_it_rests(readings: list[bool]) -> None:
    story = Story()
    for is_open in readings:
        story.read(is_open)
    story.read(readings[-1], seconds=DEBOUNCE_SECONDS + 2 * LOOK)
    assert (story.door.state is DoorState.OPEN) == readings[-1]
