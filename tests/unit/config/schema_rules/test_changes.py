"""Keys and items too few and too many: the schema refuses what the loader refuses, but for what no schema can say."""

import copy
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from bifrost.config.explain import section_at, show_loc
from bifrost.config.loc import Loc
from bifrost.config.model import Config

from ..test_wrong_values import EVERY, places, put
from .both import DEFINITIONS, accepts, examples, loads

MOST_VALUES = 3
"""Values of the examples that are tried for one key: those of another section seldom show more."""

SAMPLE = 1 if EVERY == 1 else 10
"""Every tenth change is tried, always the same ones; with BIFROST_EVERY_VALUE=1 all (`make proof`)."""

NO_SCHEMA_CAN_SAY: dict[str, tuple[str, ...]] = {
    "the tenant of this name is elsewhere, or is not": (
        "every-setting.yaml: remove tenants[0]",
        "every-setting.yaml: remove tenants[1]",
        "broker-acls.yaml: add proxy.listener_sets[0].tenant",
        "control.yaml: add proxy.listener_sets[0].tenant",
        "encrypted-virtual-partitions.yaml: add proxy.listener_sets[0].tenant",
        "encryption.yaml: add proxy.listener_sets[0].tenant",
        "filters.yaml: add proxy.listener_sets[0].tenant",
        "high-throughput.yaml: add proxy.listener_sets[0].tenant",
        "namespaces.yaml: add proxy.listener_sets[0].tenant",
        "schemas.yaml: add proxy.listener_sets[0].tenant",
        "single-address.yaml: add proxy.listener_sets[0].tenant",
        "tls.yaml: add proxy.listener_sets[0].tenant",
        "tls.yaml: add proxy.listener_sets[1].tenant",
        "virtual-partitions.yaml: add proxy.listener_sets[0].tenant",
    ),
    "the upstream of this name is elsewhere": ("every-setting.yaml: remove upstreams[0].name",),
    "another item, which differs from it, has the same value": (
        "control.yaml: add proxy.control.admins[0].certificate_principal",
        "control.yaml: add proxy.control.admins[1].certificate_principal",
        "control.yaml: add proxy.control.admins[2].token_sha256",
        "every-setting.yaml: add proxy.control.admins[0].certificate_principal",
        "every-setting.yaml: add proxy.control.admins[1].certificate_principal",
        "every-setting.yaml: add proxy.control.admins[2].token_sha256",
        "every-setting.yaml: add tenants[0].auth.principals",
        "every-setting.yaml: add tenants[0].filters[1].label",
        "every-setting.yaml: add tenants[0].filters[2].label",
        "every-setting.yaml: add tenants[0].filters[4].label",
        "every-setting.yaml: add tenants[0].filters[5].label",
        "every-setting.yaml: add tenants[0].namespace_policies[0].namespace",
        "namespaces.yaml: add tenants[0].namespace_policies[0].namespace",
    ),
    "one name is the beginning of another": (
        "every-setting.yaml: add tenants[0].prefixes",
        "every-setting.yaml: add tenants[1].auth.stored_users",
    ),
    "quarantine_topic has to be in the tenant's allowed_topics": (
        "every-setting.yaml: remove tenants[0].allowed_topics[2]",
        "proxy.yaml: add tenants[0].filters",
        "proxy.yaml: add tenants[1].filters",
        "schemas.yaml: add tenants[0].allowed_topics",
    ),
    "two numbers are compared": (
        "every-setting.yaml: add proxy.policy.group_configs[0].min",
        "high-throughput.yaml: add tenants[0].virtual_partitions[0].compacted",
        "high-throughput.yaml: add tenants[0].virtual_partitions[2].compacted",
    ),
    "two patterns are compared": (
        "encrypted-virtual-partitions.yaml: add tenants[0].virtual_partitions[0].compacted",
    ),
}
"""By the reason: changes that only the loader refuses."""

EXAMPLES = examples()


class Change(NamedTuple):
    """A configuration beside an example, in one thing."""

    name: str
    """What was done, where and in which example."""
    loc: Loc
    data: Any


def _at(data: Any, loc: Loc) -> Any:
    for step in loc:
        data = data[step]
    return data


def _sections(data: Any) -> Iterator[tuple[Loc, str]]:
    """Each section of a file, and the name of its class."""
    for loc in [(), *places(data)]:
        section = section_at(Config, loc) if isinstance(_at(data, loc), dict) else None
        if section is not None:
            yield loc, section.__name__


def _values_in_examples() -> dict[tuple[str, str], list[Any]]:
    """The values that keys have somewhere, by the class of the section and the key."""
    found: dict[tuple[str, str], list[Any]] = {}
    for data in EXAMPLES.values():
        for loc, section in _sections(data):
            for key, value in _at(data, loc).items():
                values = found.setdefault((section, key), [])
                if value not in values and len(values) < MOST_VALUES:
                    values.append(value)
    return found


IN_EXAMPLES = _values_in_examples()


def _listed(schema: dict[str, Any]) -> list[Any]:
    """The values of a key that has a list of them, a flag too."""
    while "$ref" in schema:
        schema = DEFINITIONS[schema["$ref"].rpartition("/")[2]]
    found = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    for one in schema.get("anyOf", ()):
        found += _listed(one)
    return found + ([True, False] if schema.get("type") == "boolean" else [])


def _removed(name: str, data: Any) -> Iterator[Change]:
    for loc in places(data):
        changed = copy.deepcopy(data)
        del _at(changed, loc[:-1])[loc[-1]]
        yield Change(f"{name}: remove {show_loc(loc)}", loc, changed)


def _duplicated(name: str, data: Any) -> Iterator[Change]:
    for loc in places(data):
        if isinstance(loc[-1], int):
            changed = copy.deepcopy(data)
            _at(changed, loc[:-1]).append(copy.deepcopy(_at(data, loc)))
            yield Change(f"{name}: duplicate {show_loc(loc)}", loc, changed)


def _with_other_keys(name: str, data: Any) -> Iterator[Change]:
    for loc, section in _sections(data):
        there = _at(data, loc)
        for key, schema in DEFINITIONS[section]["properties"].items():
            at: Loc = (*loc, key)
            values = [one for one in _listed(schema) if one != there.get(key)]
            if key not in there:
                default = [schema["default"]] if "default" in schema else []
                values = [*IN_EXAMPLES.get((section, key), ()), *values] or default
            done = "switch" if key in there else "add"
            for value in values:
                yield Change(f"{name}: {done} {show_loc(at)}", at, put(data, at, value))


def changes(name: str) -> Iterator[Change]:
    """Every change of one example, in an order that stays the same."""
    for made in (_removed, _duplicated, _with_other_keys):
        yield from made(name, EXAMPLES[name])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_change_is_refused_by_both_or_by_neither(name: str) -> None:
    excepted = {one for listed in NO_SCHEMA_CAN_SAY.values() for one in listed}
    too_lax = set()
    tried = 0
    for change in changes(name):
        if zlib.crc32(change.name.encode()) % SAMPLE:
            continue
        tried += 1
        is_loaded, is_accepted = loads(change.data), accepts(change.data, change.loc)
        assert is_accepted or not is_loaded, f"the loader takes it, the schema does not: {change.name}"
        if is_accepted and not is_loaded:
            too_lax.add(change.name)

    assert tried > 10
    assert sorted(too_lax - excepted) == []


def test_what_no_schema_can_say_is_still_accepted_by_it() -> None:
    excepted = sorted(one for listed in NO_SCHEMA_CAN_SAY.values() for one in listed)
    too_lax = {
        change.name
        for name in {one.partition(":")[0] for one in excepted}
        for change in changes(name)
        if change.name in excepted and accepts(change.data, change.loc) and not loads(change.data)
    }

    assert sorted(too_lax) == excepted, "remove what the schema refuses now"
