from bifrost.gateway.peers.snapshot_turn import SnapshotTurn


def test_the_only_process_always_has_the_turn_and_nobody_looked_before() -> None:
    looks = SnapshotTurn()

    looks.note("main", 50)
    looks.leave()

    assert looks.is_mine()
    assert looks.last_ms("main") is None
