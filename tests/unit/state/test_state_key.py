import pytest

from bifrost.state.state_key import MAX_NAME_BYTES, StateKey


@pytest.mark.parametrize("name", ["org", "org:apache:kafka", "Bücher/1", '["a","b"]', "x" * MAX_NAME_BYTES])
def test_a_key_is_read_as_it_was_written(name: str) -> None:
    key = StateKey("namespace", name)

    assert StateKey.from_bytes(key.to_bytes()) == key
    assert key.to_bytes() == f"namespace:{name}".encode()


@pytest.mark.parametrize("kind", ["", "Namespace", "1st", "a:b", "a_b", "a" * 65])
def test_a_kind_that_could_be_misread_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="is no kind of state"):
        StateKey(kind, "x")


@pytest.mark.parametrize("name", ["", "x" * (MAX_NAME_BYTES + 1), "ü" * (MAX_NAME_BYTES // 2 + 1)])
def test_a_name_has_a_bound(name: str) -> None:
    with pytest.raises(ValueError, match=f"has 1 to {MAX_NAME_BYTES} bytes"):
        StateKey("alias", name)


@pytest.mark.parametrize("data", [b"", b"namespace", b"\xff:a", b":a", b"alias:"])
def test_other_bytes_are_no_key(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own text
        StateKey.from_bytes(data)
