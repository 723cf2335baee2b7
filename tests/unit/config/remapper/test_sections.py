from bifrost.config.json_schema import field_documentation
from bifrost.config.remapper.sections import Logging, PartitionRemapper
from bifrost.config.schema_rules.sections import SECTIONS


def test_the_sections_are_those_that_the_remappers_users_know() -> None:
    assert list(PartitionRemapper.model_fields) == ["listen", "kafka", "mapping", "metrics", "logging"]


def test_no_section_has_the_rules_of_another_dialect() -> None:
    assert PartitionRemapper.__name__ not in SECTIONS


def test_the_key_json_is_read_and_described() -> None:
    assert Logging.model_validate({"json": True}).json_
    assert "json_" in field_documentation(Logging)
