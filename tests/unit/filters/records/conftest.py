import pytest

from support.stage.decoded_messages import decoded as decoded
from support.stage.stage import Stage


@pytest.fixture
def stage() -> Stage:
    """The stage without filters; `filtered` gives a tenant some."""
    return Stage()
