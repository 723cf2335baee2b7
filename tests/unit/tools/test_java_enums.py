import pytest

from java_enums import HEADER, JavaEnums, KafkaError, write_api_keys, write_error_codes

ENUMS = JavaEnums(
    api_keys={"FETCH": 1, "PRODUCE": 0},
    errors=[
        KafkaError("NONE", 0, "NONE", is_retriable=False),
        KafkaError("CORRUPT_MESSAGE", 2, 'Not a "batch"', is_retriable=True),
        KafkaError("UNKNOWN_SERVER_ERROR", -1, "Ça alors.", is_retriable=False),
    ],
)


def _run(source: str) -> dict[str, object]:
    namespace: dict[str, object] = {"__name__": "written"}
    exec(source, namespace)  # noqa: S102 -- what the tool writes is Python
    return namespace


def test_api_keys_are_written_in_their_order():
    source = write_api_keys(ENUMS)

    assert source.startswith(HEADER)
    assert [(key.name, key.value) for key in _run(source)["ApiKey"]] == [("PRODUCE", 0), ("FETCH", 1)]


def test_error_codes_are_written_with_their_texts_and_whether_to_retry():
    source = write_error_codes(ENUMS)

    error_code = _run(source)["ErrorCode"]
    assert source.startswith(HEADER)
    assert [(code.name, code.value) for code in error_code] == [
        ("UNKNOWN_SERVER_ERROR", -1),
        ("NONE", 0),
        ("CORRUPT_MESSAGE", 2),
    ]
    assert error_code(2).message == 'Not a "batch"'
    assert [code.is_retriable for code in error_code] == [False, False, True]


@pytest.mark.parametrize("write", [write_api_keys, write_error_codes])
def test_what_is_written_ends_with_one_newline(write):
    text = write(ENUMS)

    assert text.endswith("\n")
    assert not text.endswith("\n\n")
