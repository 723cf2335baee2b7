from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.gateway.reload.user_changes import UserChanges
from bifrost.session.close_reason import CloseReason
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.users.stored_user import user_body, user_key
from bifrost.tenancy.users.stored_users import StoredUsers

SHA_512 = Mechanism.SCRAM_SHA_512
BODY = user_body((), {SHA_512: ScramVerifier.derive(SHA_512, b"password", b"a salt of 16 byt", 4096)})
KEY = user_key("acme", "acme-a")


def test_clients_of_a_deleted_user_leave_and_those_of_a_new_one_stay() -> None:
    users = StoredUsers()
    ends: list[CloseReason] = []
    connection: Any = SimpleNamespace(
        lost_place=lambda: None if users.of("acme") else (CloseReason.CREDENTIAL_REMOVED, "gone"),
        end=lambda reason, _detail: ends.append(reason),
    )
    hits = Counter[tuple[str, str]]()
    limits = SimpleNamespace(in_flight_limits=SimpleNamespace(hits=hits))
    gateway: Any = SimpleNamespace(
        shared=SimpleNamespace(users=None, lanes=limits),
        client_authenticators=SimpleNamespace(users=users),
        connections=lambda: (connection,),
    )

    async def change() -> None:
        changes = UserChanges(cast("Any", gateway))
        changes.apply(KEY, StateRecord(KEY, 1, 0, "c", "w", None, BODY))
        for _ in range(3):
            await asyncio.sleep(0)
        assert ends == []
        changes.apply(KEY, None)
        for _ in range(3):
            await asyncio.sleep(0)
        with pytest.raises(ValueError, match="the body of a user"):
            changes.apply(KEY, StateRecord(KEY, 3, 0, "c", "w", None, {}))

    asyncio.run(change())

    assert ends == [CloseReason.CREDENTIAL_REMOVED]
    assert gateway.shared.users is users
    assert users.hits is hits
