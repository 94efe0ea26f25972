"""What one box may take of what all share."""

from pickupbox.devices.fairness import MINUTE, Allowance, has_room


def test_one_box_has_its_share_and_who_has_none_has_room_when_all_is_taken() -> None:
    assert has_room(own=4, of_one=5, waiting=99, of_all=100)
    assert not has_room(own=5, of_one=5, waiting=5, of_all=100)
    assert not has_room(own=1, of_one=5, waiting=100, of_all=100)
    assert has_room(own=0, of_one=5, waiting=199, of_all=100)
    assert not has_room(own=0, of_one=5, waiting=200, of_all=100)


def test_an_allowance_is_of_one_box_and_one_minute() -> None:
    allowance = Allowance(2)
    assert [allowance.take("A", now) for now in (0.0, 1.0, 2.0, MINUTE - 1)] == [True, True, False, False]
    assert allowance.take("B", 3.0)
    assert [allowance.take("A", MINUTE + later) for later in (0.0, 1.0, 2.0)] == [True, True, False]


def test_an_allowance_remembers_only_the_boxes_of_the_last_minute() -> None:
    allowance = Allowance(1)
    for second in range(1000):
        assert allowance.take(f"box-{second}", float(second))
    assert len(allowance._used) == MINUTE
