"""AlterClientQuotas, from the client's request to the state and the answer."""

from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.filter import Exchange, Scope
from bifrost.filters.quotas.quota_alteration import QuotaAlterationFilter
from bifrost.filters.steps import Answer, StateChange
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_outcome import OutcomeKind, StateOutcome
from bifrost.tenancy.quotas import quota_table
from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_record import quota_body, quota_key
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import set_pause
from support.stage import messages
from support.stage.playbook import Playbook, client_sends, to_client
from support.stage.stage import PORTS, Stage, account
from support.stage.state_on_stage import StateOnStage

RATE, OTHER = "producer_byte_rate", "consumer_byte_rate"
ALICE = {"user": "alice"}


def entry(entity: dict[str, str | None], **values: float | None) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
        "ops": [
            {"key": key, "value": 0.0 if value is None else value, "remove": value is None}
            for key, value in values.items()
        ],
    }


def alter(*entries: dict[str, Any], validate_only: bool = False) -> Any:
    return messages.AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)


def answer(*results: tuple[dict[str, str | None], ErrorCode, str | None]) -> Any:
    return messages.AlterClientQuotasResponse(
        entries=[
            {"error_code": code, "error_message": text, "entity": entry(entity)["entity"]}
            for entity, code, text in results
        ]
    )


def done(*entities: dict[str, str | None]) -> Any:
    return answer(*((one, ErrorCode.NONE, None) for one in entities))


def rates(stage: Stage, user: str = "alice", path: str = "acme") -> list[float]:
    limits = stage.shared.quota_tables.table(path).limits_of(user, "app")
    return [one.rate for one in limits.producer_byte_rate]


def sent(stage: Stage, message: Any, tenant: str = "acme", version: int = 1) -> Playbook:
    return stage.play(tenant) >> client_sends(message, version)


@pytest.mark.parametrize("version", range(2))
def test_a_quota_that_is_set_is_stored_and_limits_before_the_answer(
    stage: Stage, state: StateOnStage, version: int
) -> None:
    entities: list[dict[str, str | None]] = [ALICE, {"user": None, "client-id": "app"}]
    request = alter(
        entry(ALICE, **{RATE: 1024.0, OTHER: 2048.0}), entry(entities[1], request_percentage=50.5)
    )

    assert sent(stage, request, version=version) >> state.writes() << to_client(done(*entities))
    assert rates(stage) == [1024.0]
    found = state.table.get(quota_key("acme", QuotaEntity("alice")))
    assert found is not None
    assert found.body == {"values": {RATE: 1024.0, OTHER: 2048.0}}
    assert found.on_behalf_of == "User:acme"
    assert state.changes == 1


def test_a_change_of_one_key_leaves_the_others(stage: Stage, state: StateOnStage) -> None:
    first = alter(entry(ALICE, **{RATE: 1024.0, OTHER: 2048.0}))
    assert (
        sent(stage, first)
        >> state.writes()
        << to_client(done(ALICE))
        >> client_sends(alter(entry(ALICE, **{RATE: None, "request_percentage": 1.0})), 1)
        >> state.writes()
        << to_client(done(ALICE))
    )
    assert stage.shared.quota_tables.table("acme").own == {
        QuotaEntity("alice"): {QuotaKey.CONSUMER_BYTE_RATE: 2048.0, QuotaKey.REQUEST_PERCENTAGE: 1.0}
    }


def test_the_last_key_takes_the_record_with_it(stage: Stage, state: StateOnStage) -> None:
    assert (
        sent(stage, alter(entry(ALICE, **{RATE: 1024.0})))
        >> state.writes()
        << to_client(done(ALICE))
        >> client_sends(alter(entry(ALICE, **{RATE: None})), 1)
        >> state.writes()
        << to_client(done(ALICE))
    )
    assert rates(stage) == []
    assert state.table.get(quota_key("acme", QuotaEntity("alice"))) is None


def test_what_changes_nothing_is_not_written(stage: Stage, state: StateOnStage) -> None:
    assert (
        sent(stage, alter(entry(ALICE, **{RATE: 1024.0})))
        >> state.writes()
        << to_client(done(ALICE))
        >> client_sends(alter(entry(ALICE, **{RATE: 1024.0, OTHER: None, "unknown": None})), 1)
        << to_client(done(ALICE))
        >> client_sends(alter(entry({"user": "bob"}, **{RATE: None})), 1)
        << to_client(done({"user": "bob"}))
    )
    assert state.changes == 1


def test_a_request_that_only_validates_writes_nothing(stage: Stage, state: StateOnStage) -> None:
    request = alter(entry(ALICE, **{RATE: 1024.0}), entry(ALICE | {"ip": "::1"}), validate_only=True)

    ip = (ALICE | {"ip": "::1"}, ErrorCode.INVALID_REQUEST, "Unhandled client quota entity type: ip")
    assert sent(stage, request) << to_client(answer((ALICE, ErrorCode.NONE, None), ip))
    assert state.changes == 0


def test_an_entity_that_is_refused_does_not_stop_the_others(stage: Stage, state: StateOnStage) -> None:
    bad: dict[str, str | None] = {"user": "bob"}
    request = alter(entry(bad, **{RATE: 0.5}), entry(ALICE, **{RATE: 1.0}), entry({}, **{RATE: 1.0}))

    assert (
        sent(stage, request)
        >> state.writes()
        << to_client(
            answer(
                (bad, ErrorCode.INVALID_REQUEST, f"{RATE} cannot be a fractional value."),
                (ALICE, ErrorCode.NONE, None),
                ({}, ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity"),
            )
        )
    )
    assert rates(stage) == [1.0]


def test_an_entity_that_comes_twice_is_refused_after_its_first_change(
    stage: Stage, state: StateOnStage
) -> None:
    both = {"user": "alice", "client-id": None}
    request = alter(entry(both, **{RATE: 1.0}), entry(both, **{RATE: 2.0}))

    text = "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=null, user=alice})"
    assert (
        sent(stage, request) >> state.writes() << to_client(answer((both, ErrorCode.INVALID_REQUEST, text)))
    )
    assert rates(stage) == [1.0]


def test_a_key_that_comes_twice_is_refused(stage: Stage, state: StateOnStage) -> None:
    twice = entry(ALICE, **{RATE: 1.0})
    twice["ops"] *= 2

    text = "Ignoring duplicate entity ClientQuotaEntity(entries={user=alice})"
    assert sent(stage, alter(twice)) << to_client(answer((ALICE, ErrorCode.INVALID_REQUEST, text)))


def test_another_tenant_has_no_part_in_it(stage: Stage, state: StateOnStage) -> None:
    stage.shared.quota_tables.let_set(["acme", "globex"])

    assert sent(stage, alter(entry(ALICE, **{RATE: 1.0}))) >> state.writes() << to_client(done(ALICE))
    assert rates(stage, path="globex") == []
    assert sent(stage, alter(entry(ALICE, **{RATE: None})), "globex") << to_client(done(ALICE))
    assert rates(stage) == [1.0]


def test_a_tenant_that_may_not_set_quotas_is_refused(stage: Stage, state: StateOnStage) -> None:
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert sent(stage, alter(entry(ALICE, **{RATE: 1.0})), "globex") << to_client(
        answer((ALICE, denied, denied.message))
    )


def test_without_a_state_the_answer_says_what_is_missing(stage: Stage) -> None:
    stage.shared.quota_tables.let_set(["acme"])
    text = "The gateway has no state to store this in: its configuration needs the section proxy.state."

    assert sent(stage, alter(entry(ALICE, **{RATE: 1.0}), entry(ALICE | {"ip": None}))) << to_client(
        answer(
            (ALICE, ErrorCode.UNSUPPORTED_VERSION, text),
            (ALICE | {"ip": None}, ErrorCode.INVALID_REQUEST, "Unhandled client quota entity type: ip"),
        )
    )


def test_what_the_operator_gave_is_the_most(stage: Stage, state: StateOnStage) -> None:
    table = stage.shared.quota_tables.table("acme")
    rate = QuotaKey.PRODUCER_BYTE_RATE
    table.give({NAMESPACE: {rate: 1e9}, QuotaEntity(DEFAULT): {rate: 1000.0}})
    bob: dict[str, str | None] = {"user": "bob"}

    request = alter(entry(ALICE, **{RATE: 1001.0}), entry(bob, **{RATE: 1000.0, OTHER: 5000.0}))
    assert (
        sent(stage, request)
        >> state.writes()
        << to_client(
            answer(
                (ALICE, ErrorCode.POLICY_VIOLATION, f"Quota {RATE} may be 1000 at most"),
                (bob, ErrorCode.NONE, None),
            )
        )
    )
    assert rates(stage, "bob") == [1e9, 1000.0, 1000.0]


def test_a_tenant_has_so_many_entities_and_no_more(
    stage: Stage, state: StateOnStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bifrost.tenancy.quotas.quota_change.MAX_ENTITIES", 2)
    assert quota_table.MAX_ENTITIES == 1000
    bob: dict[str, str | None] = {"user": "bob"}
    carol: dict[str, str | None] = {"user": "carol"}

    refused = (carol, ErrorCode.POLICY_VIOLATION, "At most 2 entities may have quotas")
    assert (
        sent(stage, alter(entry(ALICE, **{RATE: 1.0})))
        >> state.writes()
        << to_client(done(ALICE))
        >> client_sends(alter(*(entry(one, **{RATE: 2.0}) for one in (ALICE, bob, carol))), 1)
        >> state.writes()
        << to_client(answer((ALICE, ErrorCode.NONE, None), (bob, ErrorCode.NONE, None), refused))
    )


def test_names_that_no_key_can_have_are_refused(stage: Stage, state: StateOnStage) -> None:
    long: dict[str, str | None] = {"client-id": "%" * 400}
    text = "The names of the client quota entity are too long"

    assert sent(stage, alter(entry(long, **{RATE: 1.0}))) << to_client(
        answer((long, ErrorCode.INVALID_REQUEST, text))
    )


def test_a_change_that_lost_a_race_is_made_by_what_is_stored_then(stage: Stage, state: StateOnStage) -> None:
    book = sent(stage, alter(entry(ALICE, **{RATE: 1.0})))
    key = quota_key("acme", QuotaEntity("alice"))
    state.change(Change(key, 0, quota_body({QuotaKey.CONSUMER_BYTE_RATE: 7.0})))

    assert book >> state.writes() >> state.writes() << to_client(done(ALICE))
    found = state.table.get(key)
    assert found is not None
    assert found.body == {"values": {RATE: 1.0, OTHER: 7.0}}


def test_a_change_that_always_loses_is_told(stage: Stage, state: StateOnStage) -> None:
    lost = state.fails(StateOutcome(OutcomeKind.CONFLICT))
    text = "It was changed at the same time. Try again."

    book = sent(stage, alter(entry(ALICE, **{RATE: 1.0})))
    for _ in range(5):
        book >>= lost
    assert book << to_client(answer((ALICE, ErrorCode.INVALID_UPDATE_VERSION, text)))


@pytest.mark.parametrize("kind", [OutcomeKind.UNAVAILABLE, OutcomeKind.UNKNOWN, OutcomeKind.BUSY])
def test_a_change_that_was_not_made_is_told_for_what_it_would_have_changed(
    stage: Stage, state: StateOnStage, kind: OutcomeKind
) -> None:
    outcome = StateOutcome(kind, "gateway-7/4711 does not answer")
    bob: dict[str, str | None] = {"user": "bob"}

    request = alter(entry(ALICE, **{RATE: 1.0}), entry(bob, **{RATE: None}))
    assert (
        sent(stage, request)
        >> state.fails(outcome)
        << to_client(
            answer((ALICE, ErrorCode.REQUEST_TIMED_OUT, outcome.message), (bob, ErrorCode.NONE, None))
        )
    )


def asked_below(stage: Stage, state: StateOnStage, tiers: tuple[str, ...]) -> Exchange:
    """Return a request of a user of a namespace."""
    cluster = stage.shared.virtual_clusters.of(replace(account("acme"), namespace=tiers))
    tables = stage.shared.quota_tables
    return Exchange(49, 1, Scope(cluster.namespace, PORTS, "eve", state.table, tables))


def test_quotas_of_a_namespace_are_written_only_while_it_is_there(stage: Stage, state: StateOnStage) -> None:
    namespace = StateKey("namespace", "acme:eu")
    state.change(Change(namespace, 0, {}))
    exchange, request = asked_below(stage, state, ("eu",)), alter(entry(ALICE, **{RATE: 1.0}))
    wanted = QuotaAlterationFilter().on_request(exchange, request)
    assert isinstance(wanted, StateChange)

    state.change(Change(namespace, 1, None))
    lost = state.meet(wanted)
    exchange.met = {StateChange: lost}
    answered = QuotaAlterationFilter().on_request(exchange, request)

    assert lost.outcome is not None
    assert lost.outcome.kind is OutcomeKind.CONFLICT
    assert isinstance(answered, Answer)
    [told] = answered.response.entries  # type: ignore[attr-defined]
    assert (told.error_code, told.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "InvalidNamespace: namespace acme:eu does not exist",
    )


def test_entities_of_very_many_parts_or_keys_are_refused_without_a_look_at_all(
    stage: Stage, state: StateOnStage
) -> None:
    parts: dict[str, str | None] = {f"kind-{number}": None for number in range(2_000)}
    keys = {f"key-{number}": None for number in range(101)}
    told = dict(list(parts.items())[:10])
    unknown, many = (
        "Unhandled client quota entity type: kind-0",
        "An entity has at most 10 parts, and 100 keys of quotas",
    )
    bob: dict[str, str | None] = {"user": "bob"}

    request = alter(entry(parts, **{RATE: 1.0}), entry(bob, **keys), entry(ALICE, **{RATE: 1.0}))

    assert (
        sent(stage, request)
        >> state.writes()
        << to_client(
            answer(
                (told, ErrorCode.INVALID_REQUEST, unknown),
                (bob, ErrorCode.INVALID_REQUEST, many),
                (ALICE, ErrorCode.NONE, None),
            )
        )
    )


def test_entities_are_judged_with_pauses_between_few_of_them(stage: Stage, state: StateOnStage) -> None:
    pauses: list[int] = []
    request = alter(*(entry({"user": f"u{number}"}, **{RATE: 1.0}) for number in range(100)))
    set_pause(lambda: pauses.append(1))
    try:
        step = QuotaAlterationFilter().on_request(asked_below(stage, state, ()), request)
    finally:
        set_pause(None)

    assert isinstance(step, StateChange)
    assert len(pauses) >= 20, "a pause after 64 steps, so after some five entities"
