import asyncio
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from bifrost.control.backend import Unavailable
from bifrost.control.configs.configs import Configs, Report
from bifrost.control.configs.settling import PRINCIPAL, settle_configs
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.topic_configs.config_plan import ConfiguredTopic, Standing

TOPIC = ConfiguredTopic("physical", Path(("acme",)), "orders", {})
CHANGED = Standing(TOPIC, "retention.ms", None, "5", Path(("acme",)), overrides=False)


class Rounds:
    """Configs that are settled so many times, with these results."""

    def __init__(self, *results: Any) -> None:
        self.results, self.asked = list(results), list[str]()

    async def settle(self, on_behalf_of: str, _now_ms: int) -> dict[str, Report]:
        self.asked.append(on_behalf_of)
        if not self.results:
            raise asyncio.CancelledError
        found = self.results.pop(0)
        if isinstance(found, Exception):
            raise found
        return cast("dict[str, Report]", found)


def test_it_goes_on_after_a_cluster_did_not_answer_and_tells_what_was_changed() -> None:
    rounds = Rounds(
        Unavailable("no broker"),
        {"acme": Report([CHANGED]), "globex": Report([CHANGED], {"physical": "INVALID_CONFIG"})},
    )

    with capture_logs() as logs, pytest.raises(asyncio.CancelledError):
        asyncio.run(settle_configs(cast("Configs", rounds), every_s=0))

    assert rounds.asked == [PRINCIPAL] * 3
    assert [(one["event"], one.get("tenant"), one.get("changes")) for one in logs] == [
        ("configs_not_settled", None, None),
        ("configs_settled", "acme", 1),
        ("configs_not_settled", "globex", None),
    ]
