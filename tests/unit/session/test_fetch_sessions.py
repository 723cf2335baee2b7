import sys

from bifrost.session.fetch_sessions import FetchSessions, OwnClaims, Proof, SharedClaims


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
    assert len(sessions.claims) == 1


def test_all_connections_of_a_tenant_to_a_broker_have_the_same_ownership() -> None:
    sessions = FetchSessions()

    assert sessions.of(1, "acme") is sessions.of(1, "acme")
    assert len({sessions.of(1, "acme"), sessions.of(2, "acme"), sessions.of(1, "globex")}) == 3
    sessions.of(1, "acme").claim(7)
    assert sessions.is_owned(1, 7, "acme")


def test_the_table_is_bounded_and_forgets_the_oldest() -> None:
    sessions = FetchSessions(OwnClaims(3))

    for number in range(10):
        sessions.claim(1, number, "acme")

    assert len(sessions.claims) == 3
    assert [sessions.is_owned(1, number, "acme") for number in (6, 7, 8, 9)] == [False, True, True, True]


def test_a_new_owner_does_not_push_another_out() -> None:
    sessions = FetchSessions(OwnClaims(2))
    sessions.claim(1, 1, "acme")
    sessions.claim(1, 2, "acme")

    sessions.claim(1, 2, "globex")

    assert sessions.is_owned(1, 1, "acme")


def holds(proof: Proof | None) -> bool:
    assert proof is not None
    memory, number = proof
    return int.from_bytes(bytes(memory), sys.byteorder) == number


def test_a_proof_holds_until_the_broker_gives_the_session_to_another() -> None:
    sessions = FetchSessions()
    sessions.claim(1, 7, "acme")
    proof = sessions.proof(1, 7, "acme")
    assert holds(proof)
    assert sessions.proof(1, 7, "globex") is None

    sessions.claim(1, 7, "acme")
    assert holds(proof)

    sessions.claim(1, 7, "globex")
    assert not holds(proof)
    assert sessions.proof(1, 7, "acme") is None
    assert holds(sessions.proof(1, 7, "globex"))


def test_a_proof_ends_when_the_session_is_forgotten() -> None:
    sessions = FetchSessions(OwnClaims(2))
    sessions.claim(1, 7, "acme")
    proof = sessions.proof(1, 7, "acme")

    sessions.claim(1, 8, "acme")
    assert holds(proof)
    sessions.claim(1, 9, "acme")

    assert not holds(proof)


def processes(count: int) -> list[FetchSessions]:
    """Several that know the same."""
    marks = memoryview(bytearray(8 * 4096)).cast("Q")
    return [FetchSessions(SharedClaims(marks, b"key").of_cluster("upstream")) for _ in range(count)]


def test_processes_know_each_others_sessions_at_once() -> None:
    one, other = processes(2)

    one.claim(1, 7, "acme")

    assert other.is_owned(1, 7, "acme")
    assert not other.is_owned(1, 7, "globex")
    assert not other.is_owned(2, 7, "acme")
    other.claim(1, 7, "globex")
    assert not one.is_owned(1, 7, "acme"), "the broker has given the number to another client"
    assert one.is_owned(1, 7, "globex")


def test_a_proof_ends_in_every_process() -> None:
    one, other = processes(2)
    one.claim(1, 7, "acme")
    proof = one.proof(1, 7, "acme")
    assert holds(proof)
    assert one.proof(1, 7, "globex") is None

    other.claim(1, 7, "globex")

    assert not holds(proof)


def test_physical_clusters_are_kept_apart() -> None:
    claims = SharedClaims(memoryview(bytearray(8 * 4096)).cast("Q"), b"key")
    one, other = claims.of_cluster("one"), claims.of_cluster("other")

    one.claim(1, 7, "acme")

    assert one.is_owned(1, 7, "acme")
    assert not other.is_owned(1, 7, "acme")


def test_sessions_that_meet_in_one_place_forget_each_other() -> None:
    [sessions] = processes(1)
    for number in range(20_000):
        sessions.claim(-1, number - 10_000, "acme")

    owned = [sessions.is_owned(-1, number - 10_000, "acme") for number in range(20_000)]

    assert sum(owned[-500:]) > 400
    assert sum(owned) <= 4096
    assert not any(sessions.is_owned(-1, number, "globex") for number in range(1000))
