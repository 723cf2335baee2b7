from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.records.masking_config import MAX_NAMES, MaskedField, MaskingConfig, split_path


@pytest.mark.parametrize(
    ("path", "names", "of_elements"),
    [
        ("a", ["a"], False),
        ("a.b", ["a", "b"], False),
        ("cards[*].number", ["cards", "number"], False),
        ("tags[*]", ["tags"], True),
        ("*.é x", ["*", "é x"], False),
        ("*[*]", ["*"], True),
    ],
)
def test_a_path_is_names_with_dots_between(path: str, names: list[str], of_elements: bool) -> None:
    assert split_path(path) == (names, of_elements)


@pytest.mark.parametrize(
    "path", ["", ".", "a.", ".a", "a..b", "a[0]", "[*]", "a[*][*]", "a*", "**", "a]", "a.[*]"]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValidationError, match=r"is no path|at least 1"):
        MaskedField.model_validate({"path": path, "action": "set_null"})


def test_a_path_has_a_bounded_number_of_names() -> None:
    assert len(split_path(".".join(["a"] * MAX_NAMES))[0]) == MAX_NAMES
    with pytest.raises(ValueError, match=f"up to {MAX_NAMES} names"):
        split_path(".".join(["a"] * (MAX_NAMES + 1)))


@pytest.mark.parametrize(
    ("value", "as_json"),
    [("x", '"x"'), ("", '""'), (0, "0"), (-1.5, "-1.5"), (True, "true"), ("é", '"\\u00e9"')],
)
def test_a_constant_is_kept_as_json(value: Any, as_json: str) -> None:
    field = MaskedField.model_validate({"path": "a", "action": "constant", "value": value})

    assert field.value == as_json


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "constant"},
        {"action": "hash", "value": "x"},
        {"action": "constant", "value": []},
        {"action": "constant", "value": float("nan")},
        {"action": "constant", "value": "x" * 300},
        {"action": "show"},
    ],
)
def test_a_field_without_a_clear_mask_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MaskedField.model_validate({"path": "a"} | wrong)


def test_nothing_of_the_key_is_printed() -> None:
    assert "hash_key=" not in repr(MaskingConfig(hash_key=None))
