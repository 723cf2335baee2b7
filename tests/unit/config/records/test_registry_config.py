from typing import Any

import pytest

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.config.records.registry_config import check_format, check_registry

URL = {"registry_url": "http://registry:8081"}


def config_of(**keys: Any) -> FilterConfig:
    return FilterConfig.model_validate(keys)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({}, "no registry_url"),
        (URL | {"registry_username": "a"}, "need each other"),
        (URL | {"registry_password_file": "a"}, "need each other"),
        (
            URL | {"registry_username": "a", "registry_password_file": "b", "registry_token_file": "c"},
            "remove one of them",
        ),
    ],
)
def test_a_registry_has_one_account_at_most(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_registry(config_of(**wrong))
    with pytest.raises(ValueError, match=why):
        check_format(config_of(format="schema", **wrong))


def test_a_registry_is_for_values_with_schemas_alone() -> None:
    check_format(config_of(format="schema", **URL))
    check_format(config_of())
    for key, value in (*URL.items(), ("subject", "record"), ("max_schemas", 5)):
        with pytest.raises(ValueError, match=f"config.{key} is for format: schema"):
            check_format(config_of(**{key: value}))
