from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bifrost.tenancy.namespaces import alias_table
from bifrost.tenancy.namespaces.alias_fields import read_place, read_usual
from bifrost.tenancy.namespaces.alias_table import Access, Alias, Place, read_body
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path, read_path

ACCESSES: dict[Any, Any] = {one.value: one for one in Access}
texts = st.sampled_from(["a/s", "a:x/s", "a/", "/s", "a", "", "a/s/t", "a:/s", "ü/s"]) | st.text(max_size=6)
odd = st.none() | st.booleans() | st.integers() | texts
bodies = st.dictionaries(
    st.sampled_from(["owner", "shares", "of"]),
    odd | st.dictionaries(texts, st.sampled_from(["read", "read-write", "write", None, 1]), max_size=3),
)


def test_a_place_is_split_at_its_first_slash() -> None:
    assert read_place("a:x/s/t", read_path, Place) == Place(Path(("a", "x")), "s/t")
    assert type(read_place("a/s", read_path, Place)) is Place
    for text in ("", "a", "a/"):
        assert read_place(text, read_path, Place) is None
    with pytest.raises(InvalidNamespace):
        read_place("/s", read_path, Place)


def test_the_usual_alias_is_read() -> None:
    body = {"owner": "a:x/s", "shares": {"a/t": "read", "b/s": "read-write"}}
    shared = ((Place.read("a/t"), Access.READ), (Place.read("b/s"), Access.READ_WRITE))

    found = read_usual(body, read_path, Place, Alias, ACCESSES)

    assert found == Alias(Place.read("a:x/s"), shared)
    assert type(found) is Alias


@given(bodies)
@example({"owner": "a/s", "shares": {"a/t": "write"}})
def test_an_alias_is_read_or_refused_as_without_the_compiled_reader(body: dict[str, Any]) -> None:
    quick = outcome(body)
    with patch.object(alias_table, "read_usual", return_value=None):
        assert quick == outcome(body)


def outcome(body: dict[str, Any]) -> Alias | str:
    try:
        return read_body(body)
    except ValueError as error:
        return str(error)
