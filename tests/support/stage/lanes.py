"""Lanes for tests that need one without a session."""

from bifrost.forwarding.lane import Lane
from bifrost.forwarding.lane_names import LaneNames, lane_names
from bifrost.forwarding.lanes import LaneTable
from bifrost.forwarding.load import Load
from bifrost.forwarding.traffic import Traffic
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.rewriting import Names
from support.stage.stage import PLANS, PORTS, Stage

_SAME = Names(lambda _slot, name: name)

SAME_NAMES = LaneNames(_SAME, _SAME, None)
"""Names that are the same on both sides."""


def new_lane(
    api_key: int,
    version: int,
    traffic: Traffic | None = None,
    load: Load | None = None,
    names: LaneNames = SAME_NAMES,
) -> Lane:
    """Make the lane of an API and version, with counters of its own unless they are given."""
    plan = PLANS.plan_for(api_key, version)
    return Lane(plan, Traffic() if traffic is None else traffic, Load() if load is None else load, names)


def names_of(namespace: Namespace) -> LaneNames:
    """Give the names of a namespace at the listener of the stage."""
    return lane_names(namespace, PORTS)


def table_of(stage: Stage, tenant: str = "acme") -> LaneTable:
    """Give the lanes of a tenant at the listener of the stage."""
    return stage.shared.lanes.table(tenant, names_of(stage.namespaces[tenant]))
