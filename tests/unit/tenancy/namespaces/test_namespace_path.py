import pytest

from bifrost.config.tiers import MAX_TIERS_LENGTH
from bifrost.tenancy.namespaces.namespace_path import (
    InvalidNamespace,
    Path,
    is_within,
    parent,
    read_path,
    read_tiers,
    shown,
)


def test_a_path_is_a_tenant_and_its_tiers() -> None:
    path = read_path("acme:analytics:eu-1.a_b")

    assert path == ("acme", "analytics", "eu-1.a_b")
    assert shown(path) == "acme:analytics:eu-1.a_b"
    assert parent(path) == ("acme", "analytics")
    assert read_path("acme") == ("acme",)
    assert read_tiers("") == ()


@pytest.mark.parametrize("text", ["a:", ":a", "a::b", "a:b/c", "a:.", "a:..", "a:ä", "a: b", "a:b\n", ""])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(InvalidNamespace, match=r"^InvalidNamespace: "):
        read_path(text)


def test_tiers_have_a_longest_length() -> None:
    assert read_tiers("a" * MAX_TIERS_LENGTH) == ("a" * MAX_TIERS_LENGTH,)
    with pytest.raises(InvalidNamespace, match="has 65 characters, and may have 64"):
        read_tiers("a" * (MAX_TIERS_LENGTH + 1))


def test_what_is_within_what() -> None:
    eu = Path(("acme", "eu"))

    assert is_within(eu, Path(("acme",)))
    assert is_within(eu, eu)
    assert not is_within(eu, Path(("acme", "eu", "de")))
    assert not is_within(Path(("acme", "eux")), eu)
