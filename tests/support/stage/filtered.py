"""Filters of records for a tenant of a Stage."""

from collections import Counter
from dataclasses import replace
from itertools import count
from typing import Any

from bifrost.config.fields.limits import Limits
from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.config.records.record_filter import RecordFilter
from bifrost.filters.records.record_topics import RecordTopics
from bifrost.filters.records.tenant_records import ProcessRecords, TenantRecords
from bifrost.session.virtual_clusters import VirtualClusters
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.namespace_rules import NamespaceRules
from support.stage.stage import Stage

MIB = 1 << 20


def headers(*rules: dict[str, Any], label: str = "headers", **config: Any) -> RecordFilter:
    """Return a filter of headers; its rules are for `produce` if they do not say otherwise."""
    found = [{"direction": "produce"} | rule for rule in rules or ({},)]
    return RecordFilter.model_validate(
        {"name": "RecordHeaders", "label": label, "config": config, "rules": found}
    )


def policy(*rules: dict[str, Any], label: str = "policy", **config: Any) -> RecordFilter:
    """Return a policy of records."""
    return RecordFilter.model_validate(
        {"name": "ProducePolicy", "label": label, "config": config, "rules": list(rules)}
    )


def process_records(**limits: int) -> ProcessRecords:
    """Return what filters of a process share, with a clock that goes on by a microsecond at each look."""
    clock = count(0, 1_000)
    return ProcessRecords(Limits(**limits), Counter(), lambda: next(clock))


def filtered(stage: Stage, *filters: RecordFilter, tenant: str = "acme", **limits: int) -> TenantRecords:
    """Give a tenant of the stage these filters."""
    return _given(stage, process_records(**limits).of_tenant(tenant, filters))


def ruled(
    stage: Stage, *filters: RecordFilter, tenant: str = "acme", **policy: Any
) -> Counter[tuple[str, str]]:
    """Give a tenant of the stage a policy about records, and filters; return what counts refusals."""
    hits: Counter[tuple[str, str]] = Counter()
    namespace, policies = stage.namespaces[tenant], NamespacePolicies()
    policies.configure({(tenant,): NamespacePolicy.model_validate(policy)})
    namespace.rules = NamespaceRules(namespace.names, policies, hits)
    _given(stage, process_records().of_tenant(tenant, filters, has_rules=True))
    return hits


def _given(stage: Stage, records: TenantRecords) -> TenantRecords:
    clusters = stage.shared.virtual_clusters
    roots = {name: clusters.of_tenant(name) for name in stage.namespaces}
    found = {name: one for name, one in roots.items() if one is not None}
    found[records.tenant] = replace(found[records.tenant], records=records)
    stage.shared.virtual_clusters = VirtualClusters(found, stage._new, stage.shared.virtual_clusters.models)
    return records


def topics_of(
    stage: Stage, *filters: RecordFilter, tenant: str = "initech", user: str = "alice", **limits: int
) -> RecordTopics:
    """Return the topics of a user of a tenant of the stage that has these filters."""
    records = filtered(stage, *filters, tenant=tenant, **limits)
    found = records.topics(stage.namespaces[tenant], user, None)
    assert found is not None
    return found
