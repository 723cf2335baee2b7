"""What the sessions of clients at single addresses hold, by client, by tenant and in all."""

from bifrost.routes.session_memory import SessionMemory


def test_what_clients_hold_is_counted() -> None:
    memory = SessionMemory(1000, 1000)

    assert memory.swap("acme", 0, 100, 0)
    assert memory.swap("acme", 100, 60, 100)
    assert memory.swap("globex", 0, 30, 0)
    assert memory.used == 90
    assert memory.swap("acme", 60, 0, 60)
    assert memory.swap("globex", 30, 0, 30)

    assert memory.used == 0


def test_one_client_has_a_bound() -> None:
    memory = SessionMemory(1000, 100)

    assert memory.swap("acme", 0, 60, 0)
    assert not memory.swap("acme", 0, 41, 60)
    assert memory.swap("acme", 0, 40, 60)
    assert not memory.swap("acme", 60, 61, 100)
    assert memory.used == 100


def test_clients_of_a_tenant_hold_as_much_as_they_leave_free() -> None:
    memory = SessionMemory(1000, 400)

    assert memory.swap("acme", 0, 400, 0)
    assert not memory.swap("acme", 0, 101, 0)
    assert memory.swap("acme", 0, 100, 0)
    assert not memory.swap("acme", 400, 401, 400)

    assert memory.swap("globex", 0, 250, 0)
    assert not memory.swap("globex", 0, 1, 0)
    assert memory.swap("initech", 0, 125, 0)
    assert memory.used == 875


def test_a_tenant_that_has_more_than_is_free_now_keeps_it_but_gets_no_more() -> None:
    memory = SessionMemory(1000, 1000)
    assert memory.swap("acme", 0, 500, 0)
    assert memory.swap("globex", 0, 250, 0)

    assert memory.swap("acme", 500, 500, 500)
    assert memory.swap("acme", 500, 400, 500)
    assert not memory.swap("acme", 400, 401, 400)

    assert memory.swap("globex", 0, 50, 250)


def test_a_session_that_finds_no_room_leaves_all_as_it_was() -> None:
    memory = SessionMemory(100, 100)

    assert not memory.swap("acme", 0, 51, 0)
    assert memory.used == 0
    assert memory.swap("acme", 0, 50, 0)
