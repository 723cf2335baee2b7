"""How soon a worker is started again."""

from bifrost.gateway.workers.pace import LAST_DELAY_S, SERVED_WELL_S, RestartPace


def test_one_that_had_served_well_is_replaced_at_once() -> None:
    pace = RestartPace()

    assert [pace.delay_s(SERVED_WELL_S) for _ in range(5)] == [0] * 5


def test_one_that_dies_again_and_again_is_replaced_later_and_later() -> None:
    pace = RestartPace()

    delays = [pace.delay_s(1) for _ in range(12)]

    assert delays[:5] == [0, 1, 2, 4, 8]
    assert delays[-1] == LAST_DELAY_S
    assert pace.delay_s(SERVED_WELL_S) == 0
    assert pace.delay_s(1) == 0


def test_one_that_never_was_ready_waits_from_the_first_time_on() -> None:
    pace = RestartPace()

    assert [pace.delay_s(0) for _ in range(3)] == [0.5, 1, 2]
    assert pace.failures == 3
