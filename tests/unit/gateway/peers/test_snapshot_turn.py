from bifrost.gateway.peers.snapshot_turn import SnapshotTurn


def test_the_only_process_always_has_the_turn_and_no_snapshot_was_taken_before() -> None:
    turn = SnapshotTurn()

    turn.note("main", 50)
    turn.leave()

    assert turn.is_mine()
    assert turn.last_ms("main") is None
