"""What the HTTP tests do not show: resources/test_policies.py has the rest."""

import asyncio
from pathlib import Path

import pytest

from bifrost.config.model import Config
from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.control.backend import Unavailable
from bifrost.control.namespaces import Namespaces
from bifrost.control.policies import Policies
from bifrost.state.state_change import Change, StateConflict
from bifrost.tenancy.namespaces.alias_table import Place
from bifrost.tenancy.namespaces.namespace_path import read_path
from bifrost.tenancy.policies.policy_record import policy_key
from support.control.table_backend import TableBackend, config_with
from support.physical_names import physical_name

ACME, EU = read_path("acme"), read_path("acme:eu")
POLICY = NamespacePolicy(max_topics=5)


@pytest.fixture
def backend() -> TableBackend:
    return TableBackend()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_with(tmp_path)


@pytest.fixture
def namespaces(config: Config, backend: TableBackend) -> Namespaces:
    return Namespaces(config, backend)


@pytest.fixture
def policies(config: Config, backend: TableBackend, namespaces: Namespaces) -> Policies:
    return Policies(config, backend, namespaces)


def test_a_record_that_cannot_be_understood_is_told(backend: TableBackend, policies: Policies) -> None:
    backend.put([Change(policy_key(ACME), 0, {"max_consumers": 1})])

    with pytest.raises(Unavailable, match="namespace-policy:acme: no policy"):
        policies.of(ACME)


def test_another_writer_that_was_first_is_overwritten_with_its_version_in_view(
    backend: TableBackend, policies: Policies
) -> None:
    backend.before_change.append(lambda: backend.put([Change(policy_key(ACME), 0, {"max_topics": 1})]))

    asyncio.run(policies.set(ACME, POLICY, "Admin:alice"))

    found = policies.of(ACME)
    assert found.stored == POLICY
    assert found.record is not None
    assert found.record.version == 2


def test_a_caller_that_has_seen_an_older_version_is_refused(
    backend: TableBackend, policies: Policies
) -> None:
    backend.put([Change(policy_key(ACME), 0, {"max_topics": 1})])

    with pytest.raises(StateConflict):
        asyncio.run(policies.set(ACME, None, "Admin:alice", expected=7))


def test_a_moved_topic_is_compared_with_the_policy_of_its_owner(
    backend: TableBackend, namespaces: Namespaces, policies: Policies
) -> None:
    clicks, orders = physical_name("acme", "clicks"), physical_name("acme", "--eu.orders")
    backend.topics["acme"] = [clicks, orders]
    backend.put(namespaces.tree.create(EU))
    backend.put(namespaces.aliases.table.move(Place.read("acme/clicks"), Place.read("acme:eu/eu-clicks")))
    backend.put(namespaces.aliases.table.move(Place.read("acme:eu/orders"), Place.read("globex/orders")))

    found = asyncio.run(policies.check(EU, NamespacePolicy(topic_names=("x-*",))))
    of_all = asyncio.run(policies.check(ACME, NamespacePolicy(max_topics=0)))

    assert [(topic, one.key) for topic, one in found] == [("acme:eu/eu-clicks", "topic_names")]
    assert [one.message for _, one in of_all] == [
        "Policy max_topics of namespace acme allows at most 0 topics, not 1"
    ]


def test_a_policy_that_is_not_there_is_deleted_without_a_change(
    backend: TableBackend, policies: Policies
) -> None:
    asyncio.run(policies.set(ACME, None, "Admin:alice"))

    assert len(backend.table) == 0
