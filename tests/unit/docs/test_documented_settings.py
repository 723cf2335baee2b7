"""docs/ and examples/ name settings that exist; docs/configuration.md has every one.

What a page writes as `such_a_name` is a setting, or another word of the product, or stands in FOREIGN below.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from bifrost.config.json_schema import schema_text
from bifrost.config.remapper.sections import PartitionRemapper
from bifrost.config.secrets import READ_FROM_FILES
from support.pages.doc_pages import ROOT, fenced, page, pages, spans
from support.pages.source_facts import texts
from unit.tools.test_configuration_page import sections

SCHEMA = json.loads(schema_text())
OTHER_FILES = {"price-book.yaml"}
"""Examples that are no configuration of a gateway."""

TOP_SECTIONS = {"proxy", "upstream", "upstreams", "tenants"}
SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
CAMEL_CASE = re.compile(r"[a-z]+(?:[A-Z][a-z]+)+")
DOTTED = re.compile(r"[a-z]\w*(?:\[\])?(?:\.[a-z]\w*(?:\[\])?)+")

METRICS = ("kafka_proxy_", "bifrost_")
"""What test_documented_metrics.py looks at."""
FILES = (".yaml", ".py", ".md", ".html", ".json")

FOREIGN = {
    "a_b": "a tenant's name, in an example",
    "defer_build": "an option of pydantic",
    "expires_in": "a field of a token endpoint's answer (RFC 6749)",
    "groupIdPrefix": "an option of Spark's source for Kafka",
    "insufficient_scope": "an error of OAUTHBEARER (RFC 7628)",
    "malloc_trim": "a function of the C library",
    "min_decryption_version": "an option of a key in Vault's transit engine",
    "replay_cache": "an option of MIT Kerberos",
    "request_percentage": "a quota of Kafka's brokers (KIP-124)",
    "ssl_cafile": "an option of kafka-python",
    "ssl_context": "an option of aiokafka",
    "subscribePattern": "an option of Spark's source for Kafka",
    "temporarily_unavailable": "an error of OAUTHBEARER (RFC 6749)",
    "terminationGracePeriodSeconds": "a setting of Kubernetes",
}
"""Words of other programs that pages name."""


def settings() -> set[str]:
    """Return every key of a configuration, of both dialects."""
    return {key for properties in _properties(SCHEMA) for key in properties}


def _properties(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema["properties"]
        for one in schema.values():
            yield from _properties(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from _properties(one)


def paths() -> set[str]:
    """Return every key of the flat dialects with the sections that it is in, as `proxy.limits.max_connections`."""
    every = (*sections(), *sections(PartitionRemapper))
    return {f"{path}.{name}".removeprefix(".") for path, model in every for name in model.model_fields}


def keys_of(value: Any) -> Iterator[str]:
    """Yield every key of a YAML document; those of labels and topics are the operator's own."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            if key not in ("labels", "annotations", "topics"):
                yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def test_the_page_of_the_configuration_has_every_setting_and_no_other() -> None:
    documented = set(re.findall(r"^\*\*`(\w+)`\*\* \(", page("configuration.md"), re.MULTILINE))
    expected = {name for _, model in sections() for name in model.model_fields}

    assert {"listener_sets", "max_connections", "watch_files_ms"} <= expected
    assert documented == expected
    assert expected > READ_FROM_FILES


@pytest.mark.parametrize(
    "name", sorted(str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*.yaml"))
)
def test_an_example_names_settings_that_exist(name: str) -> None:
    found = {key for one in yaml.safe_load_all((ROOT / name).read_text("utf-8")) for key in keys_of(one)}

    assert len(found) > 3
    assert (found <= settings()) != (name.rpartition("/")[2] in OTHER_FILES), found - settings()


def test_the_yaml_of_a_page_names_settings_that_exist() -> None:
    blocks = [(name, block) for name, text in pages().items() for block in fenced(text, "yaml")]
    known = settings()

    wrong = {
        (name, key)
        for name, block in blocks
        for document in yaml.safe_load_all(block)
        for key in keys_of(document)
        if key not in known
    }
    assert len(blocks) >= 10
    assert wrong == set()


def test_every_word_of_the_product_that_a_page_names_exists() -> None:
    words = {(name, word) for name, text in pages().items() for word in spans(text)}
    named = {
        (name, word)
        for name, word in words
        if SNAKE_CASE.fullmatch(word) or CAMEL_CASE.fullmatch(word)
        if not word.startswith(METRICS)
    }
    known = settings() | texts() | FOREIGN.keys()

    assert ("operations.md", "drain_timeout_ms") in named
    assert {(name, word) for name, word in named if word not in known} == set()
    assert FOREIGN.keys() <= {word for _, word in named}


def test_every_setting_that_a_page_names_with_its_section_is_there() -> None:
    known = paths()
    ends = {path.split(".", at)[at] for path in known for at in range(path.count(".") + 1)}
    named = {
        (name, word.replace("[]", ""))
        for name, text in pages().items()
        for word in spans(text)
        if DOTTED.fullmatch(word) and not word.endswith(FILES)
        # Kafka's own settings have dots and no underscores.
        if word.partition(".")[0] in TOP_SECTIONS or "_" in word
    }

    assert ("security.md", "proxy.limits.max_connections") in named
    assert {(name, word) for name, word in named if word not in ends} == set()
