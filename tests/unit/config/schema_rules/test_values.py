"""The schema is as strict as the loader: it refuses what the loader refuses, except for what no schema can say."""

import math
from collections.abc import Iterator

import pytest

from bifrost.config.loc import Loc

from ..test_wrong_values import WRONG, places, put, wrong_for
from .both import accepts, examples, loads

EXAMPLE = examples()["every-setting.yaml"]

NO_SCHEMA_CAN_SAY: dict[Loc, str] = {
    ("proxy", "listener_sets", 1, "tenant"): "the tenant of this name is elsewhere",
    ("proxy", "listener_sets", 3, "sni", "tenants", 0): "the tenant of this name is elsewhere",
    ("proxy", "journal", "upstream"): "the upstream of this name is elsewhere",
    ("proxy", "quota_exchange", "upstream"): "as the journal's",
    ("proxy", "state", "upstream"): "as the journal's",
    ("upstreams", 0, "name"): "tenants elsewhere name it",
    ("tenants", 0, "name"): "a listener set elsewhere names it",
    ("tenants", 1, "name"): "a listener set elsewhere names it",
    ("tenants", 0, "upstream"): "the upstream of this name is elsewhere",
    ("tenants", 1, "upstream"): "the upstream of this name is elsewhere",
    ("tenants", 0, "filters", 5, "config", "quarantine_topic"): "it has to be in the tenant's allowed_topics",
    ("proxy", "policy", "topic_configs", 0, "min"): "it is compared with max",
    ("proxy", "policy", "topic_configs", 0, "max"): "it is compared with min",
}
"""Places where the loader refuses a value because of another one, with the reason why a schema does not."""


def lax(loc: Loc, values: tuple[object, ...]) -> Iterator[object]:
    """The values at a place that the schema accepts and the loader does not; never the other way round."""
    for wrong in values:
        if isinstance(wrong, float) and not math.isfinite(wrong):
            continue  # JSON has no such number
        changed = put(EXAMPLE, loc, wrong)
        is_loaded, is_accepted = loads(changed), accepts(changed, loc)
        assert is_accepted or not is_loaded, f"the schema refuses {wrong!r} at {loc}, the loader does not"
        if is_accepted and not is_loaded:
            yield wrong


@pytest.mark.timeout(300)
def test_every_wrong_value_is_refused_by_both_or_by_neither() -> None:
    too_lax = {loc for loc in places(EXAMPLE) if list(lax(loc, wrong_for(loc)))}

    assert too_lax - NO_SCHEMA_CAN_SAY.keys() == set()


@pytest.mark.parametrize("loc", NO_SCHEMA_CAN_SAY, ids=str)
def test_what_no_schema_can_say_is_still_accepted_by_it(loc: Loc) -> None:
    assert list(lax(loc, WRONG))
