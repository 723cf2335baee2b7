"""A stage with a state, whose tenant acme may set quotas."""

import pytest

from support.stage.stage import Stage
from support.stage.state_on_stage import StateOnStage


@pytest.fixture
def state(stage: Stage) -> StateOnStage:
    stage.shared.quota_tables.let_set(["acme"])
    return StateOnStage(stage, quota=stage.shared.quota_tables)
