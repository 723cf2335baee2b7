from pathlib import Path

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.transforms.schema_registry import names_of, registry_of


def test_a_topic_of_a_namespace_has_several_names() -> None:
    assert names_of("orders") == ("orders",)
    assert names_of("eu:shop:orders") == ("eu:shop:orders", "shop:orders", "orders")


def test_a_registry_is_as_the_filter_says() -> None:
    config = {"registry_url": "http://a", "registry_token_file": "token", "max_schemas": 7}
    found = registry_of(FilterConfig.model_validate(config))

    assert (found.url, found.token_file, found.ca_file, found.max_schemas) == (
        "http://a",
        Path("token"),
        None,
        7,
    )
