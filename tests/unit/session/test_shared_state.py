from dataclasses import replace
from typing import Any

import pytest

from bifrost.authentication.accounts import Account, Accounts
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.shared_state import Route, SharedState
from bifrost.session.virtual_clusters import VirtualClusters
from support.identity.passwords import proved_account
from support.stage.stage import PORTS, UPSTREAM, Stage, account


def without(shared: SharedState, *users: str) -> None:
    """Change the configuration as a reload does: these users are gone, their tenants are not."""
    left = [account(name) for name in ("acme", "globex", "initech") if name not in users]
    shared.sasl = replace(shared.sasl, accounts=Accounts(left, key=b"a secret"))


def test_a_client_stays_while_its_user_and_its_names_are_the_same(stage: Stage) -> None:
    shared = stage.shared
    acme = shared.virtual_clusters.of(account("acme"))

    assert shared.lost_place(account("acme"), acme) is None
    without(shared, "globex")
    assert shared.lost_place(account("acme"), acme) is None


def test_a_client_whose_user_is_gone_leaves(stage: Stage) -> None:
    shared = stage.shared
    acme = shared.virtual_clusters.of(account("acme"))
    without(shared, "acme")

    assert shared.lost_place(account("acme"), acme) == (
        CloseReason.CREDENTIAL_REMOVED,
        "User:acme is not in the configuration any more",
    )


def test_a_client_whose_tenant_is_gone_leaves_also_without_a_user_of_the_configuration(stage: Stage) -> None:
    """A token's principal, say, is in no list."""
    shared, token = stage.shared, Account("alice", "acme", is_listed=False)
    acme = shared.virtual_clusters.of(token)
    assert shared.lost_place(token, acme) is None

    shared.virtual_clusters = VirtualClusters({}, lambda *_: acme)

    assert shared.lost_place(token, acme) == (
        CloseReason.CREDENTIAL_REMOVED,
        "User:alice is not in the configuration any more",
    )


def test_a_client_whose_names_mean_something_else_leaves(stage: Stage) -> None:
    shared = stage.shared
    globex = shared.virtual_clusters.of(account("globex"))

    lost = shared.lost_place(account("acme"), globex)

    assert lost == (CloseReason.RECONFIGURED, "names of tenant acme mean something else now")


def test_an_entry_leads_to_the_broker_of_the_tenants_cluster(stage: Stage) -> None:
    entry = replace(stage.entry(), routes={UPSTREAM: Route(2, stage.versions)}, addresses=PORTS)

    assert entry.route_to(UPSTREAM).node_id == 2
    with pytest.raises(SessionEnded) as caught:
        entry.route_to("other")
    assert caught.value.reason is CloseReason.BROKER_UNREACHABLE
    assert "other" in caught.value.detail


def test_an_entry_of_one_tenant_knows_the_users_of_no_other(stage: Stage) -> None:
    sasl = stage.shared.sasl

    accounts = replace(stage.entry(), tenant="acme").settings(sasl).accounts

    assert proved_account(accounts, "acme", b"acme-password") == account("acme")
    assert proved_account(accounts, "globex", b"globex-password") is None
    assert stage.entry().settings(sasl) is sasl


class Tokens:
    """As much of the checks of access tokens as is asked for."""

    def only_of(self, tenant: str) -> Any:
        return f"tokens of {tenant}"


def test_an_entry_of_one_tenant_takes_the_tokens_of_no_other(stage: Stage) -> None:
    sasl = replace(stage.shared.sasl, tokens=Tokens())  # type: ignore[arg-type]

    assert replace(stage.entry(), tenant="acme").settings(sasl).tokens == "tokens of acme"


def test_without_sasl_an_authentication_never_expires(stage: Stage) -> None:
    sasl = replace(stage.shared.sasl, max_reauth_ms=1000)

    assert replace(stage.entry(), account=account("acme")).settings(sasl).max_reauth_ms == 0
    assert stage.entry().settings(sasl).max_reauth_ms == 1000


@pytest.mark.parametrize("tenant", [None, "acme"])
def test_a_listener_that_allows_a_repeated_scram_nonce_says_so_to_its_exchanges(
    stage: Stage, tenant: str | None
) -> None:
    entry = replace(stage.entry(), tenant=tenant)
    allowing = replace(entry, allows_repeated_scram_nonce=True)

    assert not entry.settings(stage.shared.sasl).allows_repeated_scram_nonce
    assert allowing.settings(stage.shared.sasl).allows_repeated_scram_nonce


def test_a_client_whose_namespace_is_gone_leaves(stage: Stage) -> None:
    shared, token = stage.shared, Account("alice", "acme", namespace=("eu",), is_listed=False)
    shared.virtual_clusters.namespaces.configure({"acme": [("eu",)]})
    eu = shared.virtual_clusters.of(token)
    assert shared.lost_place(token, eu) is None

    shared.virtual_clusters.namespaces.configure({})

    assert shared.lost_place(token, eu) == (
        CloseReason.NAMESPACE_DELETED,
        "namespace acme:eu does not exist any more",
    )
