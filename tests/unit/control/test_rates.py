from bifrost.control.rates import Rates


def test_twice_the_rate_may_come_at_once_and_then_the_rate() -> None:
    rates = Rates(2)

    assert [rates.wait_s("alice", 100.0) for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert rates.wait_s("alice", 100.5) == 0
    assert rates.wait_s("alice", 100.5) == 0.5
    assert [rates.wait_s("alice", 900.0) for _ in range(5)] == [0, 0, 0, 0, 0.5]


def test_each_name_has_a_bucket_of_its_own() -> None:
    rates = Rates(1)

    assert [rates.wait_s("alice", 0.0) for _ in range(3)] == [0, 0, 1]
    assert rates.wait_s("bob", 0.0) == 0
