"""Fair turns: places are shared out equally, nobody starves, and nobody has more than it earned."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pickupbox.database.lanes import Turn, Wish
from pickupbox.webhooks.turns import AT_FIRST, AT_MOST, REMEMBERED, Turns


def due(*endpoints: str) -> list[Turn]:
    return [Turn(endpoint, -1.0, failing=False, resume_in=None) for endpoint in endpoints]


def names(count: int) -> list[str]:
    return [f"whe_{number:04}" for number in range(count)]


def begin(turns: Turns, wishes: list[Wish]) -> list[str]:
    begun = [wish.endpoint_id for wish in wishes for _ in range(wish.room)]
    for endpoint in begun:
        turns.began(endpoint)
    return begun


def earn(turns: Turns, endpoint: str, times: int) -> None:
    for _ in range(times):
        turns.began(endpoint)
        turns.ended(endpoint, accepted=True)


@given(st.integers(1, 600), st.integers(0, 80))
def test_what_is_free_is_shared_equally_and_never_more_than_there_is(total: int, endpoints: int) -> None:
    turns = Turns(total)
    rooms = [wish.room for wish in turns.share(due(*names(endpoints)))]
    assert sum(rooms) == min(total, endpoints * AT_FIRST)
    assert not rooms or max(rooms) - min(rooms) <= 1
    assert all(1 <= room <= AT_FIRST for room in rooms)


@given(st.integers(1, 12), st.integers(1, 40))
def test_nobody_starves_however_few_places_there_are(total: int, endpoints: int) -> None:
    turns = Turns(total)
    served: Counter[str] = Counter()
    for _ in range(-(-endpoints // total)):
        begun = begin(turns, turns.share(due(*names(endpoints))))
        served.update(begun)
        for endpoint in begun:
            turns.ended(endpoint, accepted=True)
    assert set(served) == set(names(endpoints))


@given(st.integers(1, 5), st.integers(1, 8), st.integers(2, 6))
def test_nobody_starves_when_endpoints_are_looked_at_in_several_pages(total: int, pages: int, size: int) -> None:
    """More endpoints than are looked at in one go, and always fewer places than a page has."""
    turns = Turns(total)
    every = names(pages * size)
    served = set()
    for number in range(pages * size * 2):
        page = every[(number % pages) * size :][:size]
        begun = begin(turns, turns.share(due(*page)))
        served.update(begun)
        for endpoint in begun:
            turns.ended(endpoint, accepted=True)
    assert served == set(every)


@given(st.integers(1, 64), st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.booleans()), max_size=200))
def test_never_more_than_the_total_is_under_way_and_windows_keep_their_bounds(
    total: int, acts: list[tuple[int, bool, bool]]
) -> None:
    turns, every, under_way = Turns(total), names(10), Counter[str]()
    for number, asks, accepted in acts:
        if asks:
            wishes = turns.share(due(*every))
            assert all(under_way[wish.endpoint_id] + wish.room <= AT_MOST for wish in wishes)
            under_way.update(begin(turns, wishes))
        elif under_way[every[number]]:
            under_way[every[number]] -= 1
            turns.ended(every[number], accepted=accepted)
        assert turns.busy == under_way.total() <= total
        assert turns.free() == total - turns.busy


def test_an_endpoint_begins_with_a_few_and_earns_one_more_with_each_acceptance() -> None:
    turns = Turns(1000)
    assert turns.share(due("a"))[0].room == AT_FIRST
    earn(turns, "a", 3)
    assert turns.share(due("a"))[0].room == AT_FIRST + 3
    earn(turns, "a", 500)
    assert turns.share(due("a"))[0].room == AT_MOST


def test_each_failure_halves_what_an_endpoint_may_and_one_is_always_left() -> None:
    turns = Turns(1000)
    earn(turns, "a", 60)
    rooms = []
    for _ in range(8):
        turns.began("a")
        turns.ended("a", accepted=False)
        rooms.append(turns.share(due("a"))[0].room)
    assert rooms == [32, 16, 8, 4, 2, 1, 1, 1]


def test_what_is_under_way_counts_against_the_room() -> None:
    turns = Turns(1000)
    begin(turns, [Wish("a", 3, probe=False)])
    assert turns.share(due("a")) == [Wish("a", AT_FIRST - 3, probe=False)]
    begin(turns, [Wish("a", 1, probe=False)])
    assert turns.share(due("a")) == []


def test_one_endpoint_alone_cannot_take_all_places() -> None:
    """One that hangs holds a few places for one timeout; the others go on."""
    turns = Turns(512)
    begin(turns, turns.share(due("hangs")))
    assert turns.busy == AT_FIRST
    assert [wish.room for wish in turns.share(due("hangs", "healthy"))] == [AT_FIRST]


def test_an_endpoint_that_backs_off_is_probed_with_one_and_only_when_it_is_time() -> None:
    turns = Turns(1000)
    assert turns.share([Turn("a", -1.0, failing=True, resume_in=3.0)]) == []
    probe = [Turn("a", -1.0, failing=True, resume_in=-0.1)]
    assert turns.share(probe) == [Wish("a", 1, probe=True)]
    turns.began("a")
    assert turns.share(probe) == []
    turns.ended("a", accepted=False)
    assert turns.share(probe) == [Wish("a", 1, probe=True)]


def test_what_is_not_due_gets_nothing_and_takes_no_share() -> None:
    turns = Turns(4)
    later = [Turn(name, 5.0, failing=False, resume_in=None) for name in names(3)]
    assert turns.share([*later, *due("z")]) == [Wish("z", 4, probe=False)]


def test_an_endpoint_that_has_failed_but_not_yet_backs_off_goes_on_by_its_window() -> None:
    assert Turns(100).share([Turn("a", -1.0, failing=True, resume_in=None)]) == [Wish("a", AT_FIRST, probe=False)]


def test_what_is_remembered_of_endpoints_is_bounded() -> None:
    turns = Turns(10)
    earn(turns, "busy", 5)
    turns.began("busy")
    for name in names(REMEMBERED + 5):
        earn(turns, name, 1)
    assert len(turns._window) <= REMEMBERED + 1
    assert turns.share(due("busy")) == [Wish("busy", AT_FIRST + 5 - 1, probe=False)]
