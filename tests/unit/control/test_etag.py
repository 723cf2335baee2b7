import pytest

from bifrost.control.etag import digest, etag, read_digest, read_version
from bifrost.control.problem import Problem

DIGEST = digest(["a", "b"])


def test_a_version_is_an_etag_and_back() -> None:
    assert read_version(etag(7)) == 7
    assert read_version(' "12" ') == 12


def test_a_digest_is_an_etag_and_back_and_has_no_order() -> None:
    assert read_digest(etag(DIGEST)) == DIGEST == digest(["b", "a"])
    assert DIGEST != digest(["ab"]) != digest([])


@pytest.mark.parametrize("value", [None, "*", " * "])
def test_without_an_etag_any_version_will_do(value: str | None) -> None:
    assert read_version(value) is None
    assert read_digest(value) is None


@pytest.mark.parametrize(
    "value", ["", "7", '"', '""', '"x"', 'W/"7"', '"7", "8"', '"-1"', '"' + "9" * 30 + '"', '"²"']
)
def test_anything_else_is_refused(value: str) -> None:
    for read in (read_version, read_digest):
        with pytest.raises(Problem):
            read(value)


def test_a_version_is_no_digest_and_a_digest_no_version() -> None:
    with pytest.raises(Problem):
        read_digest(etag(7))
    with pytest.raises(Problem):
        read_version(etag("f" * 32))
