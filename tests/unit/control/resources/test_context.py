import pytest

from bifrost.control.problem import Problem
from bifrost.control.resources.context import etag, read_etag


def test_a_version_is_an_etag_and_back() -> None:
    assert read_etag(etag(7)) == 7
    assert read_etag(' "12" ') == 12


@pytest.mark.parametrize("value", [None, "*", " * "])
def test_without_an_etag_any_version_will_do(value: str | None) -> None:
    assert read_etag(value) is None


@pytest.mark.parametrize(
    "value", ["", "7", '"', '""', '"x"', 'W/"7"', '"7", "8"', '"-1"', '"' + "9" * 30 + '"', '"²"']
)
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(Problem):
        read_etag(value)
