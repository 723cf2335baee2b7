import pytest

from bifrost.transforms.masking.field_path import Path, path_of


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", Path((b"a",))),
        ("a[*].*.\u00e9[*]", Path((b"a", None, "\u00e9".encode()), True)),
    ],
)
def test_a_path_is_names_in_utf_8(text: str, path: Path) -> None:
    assert path_of(text) == path
