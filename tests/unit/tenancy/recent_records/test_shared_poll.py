from bifrost.tenancy.recent_records.shared_poll import SharedPoll


def test_those_that_wait_are_called_once() -> None:
    poll, called = SharedPoll(), list[str]()
    end = poll.end
    end.call(lambda: called.append("first"))
    end.call(lambda: called.append("second"))
    assert not called
    end.come()
    end.come()
    end.call(lambda: called.append("late"))

    assert called == ["first", "second", "late"]
    assert end.has_come


def test_the_end_comes_when_the_connection_of_the_fetch_has_gone() -> None:
    poll, called = SharedPoll(), list[str]()
    poll.end.call(lambda: called.append("gone"))
    del poll

    assert called == ["gone"]


def test_what_waits_no_longer_is_not_called() -> None:
    poll, called = SharedPoll(), list[str]()

    def call() -> None:
        called.append("called")

    poll.end.call(call)
    poll.end.forget(call)
    poll.end.forget(call)
    poll.end.come()

    assert called == []
