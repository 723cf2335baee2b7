from bifrost.gateway.loop.pauses import BROKER, CLIENT, SIDES, Pauses


def test_pauses_add_up_by_side() -> None:
    pauses = Pauses()
    pauses.add(CLIENT, 1_500_000_000)
    pauses.add(CLIENT, 500_000_000)

    assert {side: pauses.seconds(side) for side in SIDES} == {CLIENT: 2.0, BROKER: 0.0}
