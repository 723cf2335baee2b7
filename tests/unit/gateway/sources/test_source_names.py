from importlib import import_module

import pytest

from bifrost.config.records.record_filter import FilterName
from bifrost.gateway.sources.source_names import MODULES
from bifrost.transforms.transform_kind import kind_of


@pytest.mark.parametrize("name", FilterName)
def test_every_source_that_filters_name_is_there(name: FilterName) -> None:
    assert kind_of(name).sources <= MODULES.keys()


def test_every_module_makes_its_source() -> None:
    for module in MODULES.values():
        assert callable(import_module(f"bifrost.gateway.sources.{module}").make)
