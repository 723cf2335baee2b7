import pytest

from bifrost.pipeline.metering.journal_topic import read_properties


def test_properties_are_those_of_any_kafka_client() -> None:
    text = "# remark\n! remark\n\nsecurity.protocol = SASL_SSL\nsasl.jaas.config=a=b;\n"

    assert read_properties(text) == {"security.protocol": "SASL_SSL", "sasl.jaas.config": "a=b;"}


@pytest.mark.parametrize("line", ["password", "=value"])
def test_a_line_that_is_no_setting_is_named_by_its_number_alone(line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 2: no key=value$"):
        read_properties(f"a=b\n{line}\n")
