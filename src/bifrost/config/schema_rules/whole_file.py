"""What sections that stand far from each other demand of each other, as far as no name refers to another."""

from bifrost.config.fields.upstream import DEFAULT_UPSTREAM
from bifrost.config.schema_rules.pieces import (
    Schema,
    any_of,
    each,
    given,
    needs,
    protocol,
    same,
    some,
    when,
    within,
    without,
)

_OWN_TOPICS = ("journal", "state", "quota_exchange")
"""Sections of `proxy` that have a topic on one of the physical clusters."""


def _clusters_named(rule: Schema) -> list[Schema]:
    """Every place that says which physical cluster it is about."""
    return [
        each("tenants", rule),
        within("proxy", {"properties": dict.fromkeys(_OWN_TOPICS, rule)}),
    ]


_WITHOUT_SASL = protocol("PLAINTEXT", "SSL", default="PLAINTEXT")
_OF_ONE_TENANT = {
    "allOf": [needs("tenant"), protocol("PLAINTEXT", "SSL", default="SASL_PLAINTEXT")],
}
"""A listener set all of whose clients are one tenant's, also without users."""

WHOLE_FILE: list[Schema] = [
    {"oneOf": [needs("upstream"), needs("upstreams")]},
    when(given("upstreams", {"minItems": 2}), {"allOf": _clusters_named(needs("upstream"))}),
    when(
        given("upstream", without("name")),
        {"allOf": _clusters_named(same("upstream", DEFAULT_UPSTREAM))},
    ),
    when(
        {"anyOf": [given("upstream", _WITHOUT_SASL), given("upstreams", {"items": _WITHOUT_SASL})]},
        each(
            "tenants",
            {
                "properties": {
                    "upstream_sasl": False,
                    "auth": each("credentials", without("upstream_sasl")),
                }
            },
        ),
    ),
    when(
        {
            "not": {
                "anyOf": [
                    given("proxy", given("oauth", needs("namespace_claim"))),
                    given("proxy", any_of("listener_sets", _OF_ONE_TENANT)),
                ]
            }
        },
        each("tenants", given("auth", {"anyOf": [some("credentials"), some("principals")]})),
    ),
    when(any_of("tenants", given("auth", needs("stored_users"))), within("proxy", needs("state"))),
    when(
        any_of("tenants", some("virtual_partitions")),
        within("proxy", within("partition_index", same("partitions", 1))),
    ),
]
"""The rules of the file."""
