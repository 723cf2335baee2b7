"""What the items of a list demand of each other, by the section's class and the key of the list."""

from collections.abc import Iterable, Mapping

from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS
from bifrost.config.schema_rules.filters import FILTERS
from bifrost.config.schema_rules.pieces import Schema, at_most_one, has, needs

_ALL_DIFFERENT: Schema = {"uniqueItems": True}
"""No item twice as a whole; that two have the same name and other content is what no schema can say."""


def _once(names: Iterable[str]) -> Schema:
    return {"allOf": [at_most_one(has("name", name)) for name in names]}


DEFINITIONS: Mapping[str, Schema] = {
    "EachTopicConfigOnce": _once(TOPIC_CONFIGS),
    "EachGroupConfigOnce": _once(GROUP_CONFIGS),
}
"""Rules that several lists have; each is long."""

_TOPIC_CONFIGS, _GROUP_CONFIGS = ({"$ref": f"#/$defs/{name}"} for name in DEFINITIONS)

KEYS: Mapping[tuple[str, str], list[Schema]] = {
    ("Config", "tenants"): [_ALL_DIFFERENT],
    ("Config", "upstreams"): [_ALL_DIFFERENT],
    ("Proxy", "listener_sets"): [_ALL_DIFFERENT],
    ("Control", "admins"): [_ALL_DIFFERENT],
    ("Policy", "topic_configs"): [_TOPIC_CONFIGS],
    ("Policy", "group_configs"): [_GROUP_CONFIGS],
    ("PolicyOfNamespace", "topic_configs"): [_TOPIC_CONFIGS],
    ("PolicyOfNamespace", "forced_topic_configs"): [_TOPIC_CONFIGS],
    ("FilterConfig", "parts"): [_ALL_DIFFERENT],
    ("FilterConfig", "checks"): [_ALL_DIFFERENT],
    ("TenantQuotas", "namespaces"): [_ALL_DIFFERENT],
    ("Auth", "credentials"): [_ALL_DIFFERENT],
    ("Auth", "principals"): [_ALL_DIFFERENT],
    ("Tenant", "allowed_topics"): [_ALL_DIFFERENT],
    ("Tenant", "namespace_policies"): [_ALL_DIFFERENT, at_most_one({"not": needs("namespace")})],
    ("Tenant", "filters"): FILTERS,
}
"""What the items of a list demand of each other. The second dialect has these rules too."""
