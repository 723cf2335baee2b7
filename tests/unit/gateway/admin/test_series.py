"""How many time series one tenant can make: all its labels are values that the gateway chooses."""

import re

from bifrost.authentication.failed_authentications import ADDRESS_COST
from bifrost.config.fields.limits import Limits
from bifrost.config.fields.verifiers import Mechanism
from bifrost.config.model import Config
from bifrost.filters.refused import REFUSED
from bifrost.forwarding.lane import Awaited
from bifrost.gateway.admin.counted import OfProcess
from bifrost.gateway.admin.metrics import Metrics
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.journaling.journal_counts import JournalCounts
from bifrost.journal.record import RecordKind
from bifrost.journal.record_buffer import DropReason
from bifrost.session.session_lanes import OWN_APIS
from bifrost.wire.fields.entities import SERVED, served_versions
from support.pages.doc_pages import page
from support.stage.lanes import new_lane
from unit.gateway.test_gateway import CONFIG

OTHER_LIMITS = ("listed_topics", "topic_id_look_ups", "request_items", "decoded_request_bytes", ADDRESS_COST)


class Everything(OfProcess):
    """The counts of a gateway with a journal that has dropped records of each kind for each reason."""

    def journal(self) -> JournalCounts:
        dropped = {("acme", kind, reason): 1 for kind in RecordKind for reason in DropReason}
        return JournalCounts(dropped, {"acme": 1}, 1, 1, 1, is_up=True)


def series_of_a_tenant_that_does_everything() -> int:
    gateway = Gateway(Config.model_validate(CONFIG))
    lanes = gateway.shared.lanes
    lanes.gateway_time("acme").note(False, 1)
    for api_key in (*SERVED, *REFUSED, None):
        traffic = lanes.traffic("acme", api_key)
        traffic.receive(100)
        if api_key is not None and api_key not in OWN_APIS | REFUSED.keys():
            version = min(served_versions(api_key) or ())
            Awaited(1, new_lane(api_key, version, traffic), None).finish(100)
        for code in range(-1, 200):
            traffic.fail(code, is_own=False)
            traffic.fail(code, is_own=True)
    for name in (*Limits.model_fields, *OTHER_LIMITS):
        gateway.limits_hit[name, "acme"] += 1
    for mechanism in (*Mechanism, "SSL", "PLAINTEXT"):
        gateway.shared.sasl.outcomes["acme", str(mechanism), "success"] += 1
    lanes.in_flight_limits.load("acme")
    metrics = filter(None, Metrics(Everything(gateway)).families())
    return sum(sample.labels.get("tenant") == "acme" for metric in metrics for sample in metric.samples)


def test_no_tenant_makes_more_series_than_the_page_says() -> None:
    told = re.search(r"at most ([\d,]+) time series", page("operations.md"))

    assert told is not None
    most = int(told[1].replace(",", ""))
    assert 0.95 * most <= series_of_a_tenant_that_does_everything() <= most
