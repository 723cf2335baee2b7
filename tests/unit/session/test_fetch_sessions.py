from bifrost.session.fetch_sessions import FetchSessions


def test_a_session_is_its_tenants_at_its_broker() -> None:
    sessions = FetchSessions()

    sessions.claim(1, 7, "acme")

    assert sessions.is_owned(1, 7, "acme")
    assert not sessions.is_owned(1, 7, "globex")
    assert not sessions.is_owned(2, 7, "acme")
    assert not sessions.is_owned(1, 8, "acme")


def test_a_number_given_out_anew_is_the_new_owners() -> None:
    sessions = FetchSessions()
    sessions.claim(1, 7, "acme")

    sessions.claim(1, 7, "globex")

    assert sessions.is_owned(1, 7, "globex")
    assert not sessions.is_owned(1, 7, "acme")
    assert len(sessions) == 1


def test_all_connections_of_a_tenant_to_a_broker_have_the_same_ownership() -> None:
    sessions = FetchSessions()

    assert sessions.of(1, "acme") is sessions.of(1, "acme")
    assert len({sessions.of(1, "acme"), sessions.of(2, "acme"), sessions.of(1, "globex")}) == 3
    sessions.of(1, "acme").claim(7)
    assert sessions.is_owned(1, 7, "acme")


def test_the_table_is_bounded_and_forgets_the_oldest() -> None:
    sessions = FetchSessions(limit=3)

    for number in range(10):
        sessions.claim(1, number, "acme")

    assert len(sessions) == 3
    assert [sessions.is_owned(1, number, "acme") for number in (6, 7, 8, 9)] == [False, True, True, True]


def test_a_new_owner_does_not_push_another_out() -> None:
    sessions = FetchSessions(limit=2)
    sessions.claim(1, 1, "acme")
    sessions.claim(1, 2, "acme")

    sessions.claim(1, 2, "globex")

    assert sessions.is_owned(1, 1, "acme")
