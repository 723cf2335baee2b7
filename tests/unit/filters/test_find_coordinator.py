import pytest

from bifrost.session.close_reason import CloseReason
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, ends, to_broker, to_client
from support.stage.stage import Stage

GROUP, TRANSACTION, SHARE = 0, 1, 2
ONE_KEY, MANY_KEYS = range(4), range(4, 7)


def ask(*keys: str, version: int, key_type: int = GROUP):
    key_fields = {"key": keys[0]} if version < 4 else {"coordinator_keys": list(keys)}
    return messages.FindCoordinatorRequest(key_type=key_type, **key_fields)


def answer(*keys: str, version: int, host: str, port: int, **fields):
    place = {"node_id": 2, "host": host, "port": port, **fields}
    if version < 4:
        return messages.FindCoordinatorResponse(**place)
    return messages.FindCoordinatorResponse(coordinators=[{"key": key, **place} for key in keys])


@pytest.mark.parametrize(
    ("version", "key_type"),
    # v0 knows groups only.
    [(0, GROUP), *((version, kind) for version in range(1, 7) for kind in (GROUP, TRANSACTION))],
)
def test_the_coordinator_of_an_own_group_or_transaction_is_found(
    stage: Stage, version: int, key_type: int
) -> None:
    asked = ask("a", physical_name("globex", "b"), version=version, key_type=key_type)
    physical = ask(
        physical_name("acme", "a"),
        physical_name("acme", physical_name("globex", "b")),
        version=version,
        key_type=key_type,
    )
    keys = physical.coordinator_keys
    assert (
        stage.play()
        >> client_sends(asked, version)
        << to_broker(physical)
        >> broker_answers(answer(*keys, version=version, host="kafka-2.internal", port=9092))
        << to_client(
            answer("a", physical_name("globex", "b"), version=version, host="proxy.example.com", port=9094)
        )
    )


@pytest.mark.parametrize("version", range(1, 7))
@pytest.mark.parametrize("key_type", [SHARE, 3, -1, 127])
def test_any_other_kind_of_key_is_refused(stage: Stage, version: int, key_type: int) -> None:
    nowhere = {"node_id": -1, "host": "", "port": -1, "error_code": ErrorCode.INVALID_REQUEST}
    book = stage.play() >> client_sends(ask("g:topic:0", "h", version=version, key_type=key_type), version)

    if version < 4:
        assert book << to_client(messages.FindCoordinatorResponse(**nowhere))
    else:
        coordinators = [{"key": key, **nowhere} for key in ("g:topic:0", "h")]
        assert book << to_client(messages.FindCoordinatorResponse(coordinators=coordinators))


@pytest.mark.parametrize("version", MANY_KEYS)
def test_no_keys_are_asked_for_and_none_answered(stage: Stage, version: int) -> None:
    nothing = messages.FindCoordinatorRequest(coordinator_keys=[])
    assert (
        stage.play()
        >> client_sends(nothing, version)
        << to_broker(nothing)
        >> broker_answers(messages.FindCoordinatorResponse())
        << to_client(messages.FindCoordinatorResponse())
    )


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_an_empty_transactional_id_is_left_for_the_broker_to_refuse(stage: Stage, version: int) -> None:
    asked = ask("", version=version, key_type=TRANSACTION)

    book = stage.play() >> client_sends(asked, version)

    assert book << to_broker(asked)


def test_an_error_text_is_in_virtual_names(stage: Stage) -> None:
    def failed(prefix: str):
        text = f"Group {prefix}a is unavailable"
        nowhere = {"node_id": -1, "host": "", "port": -1, "error_code": 15, "error_message": text}
        return messages.FindCoordinatorResponse(coordinators=[{"key": f"{prefix}a", **nowhere}])

    assert (
        stage.play()
        >> client_sends(ask("a", version=4), 4)
        << to_broker(ask(physical_name("acme", "a"), version=4))
        >> broker_answers(failed(prefix_of("acme")))
        << to_client(failed(""))
    )


@pytest.mark.parametrize("version", [0, 3, 4, 6])
def test_a_key_without_room_for_the_prefix_is_malformed(stage: Stage, version: int) -> None:
    book = stage.play() >> client_sends(ask("k" * 32_767, version=version), version)

    assert book << ends(CloseReason.MALFORMED, "no room for the tenant's prefix")
