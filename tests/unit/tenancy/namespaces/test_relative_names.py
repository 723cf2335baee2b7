import pytest

from bifrost.tenancy.namespaces.relative_names import RelativeNames

EXISTING = frozenset({("eu",), ("eu", "de"), ("team-a",), ("x.",), ("a_",)})
ROOT = RelativeNames((), EXISTING)


@pytest.mark.parametrize(
    ("name", "tail"),
    [
        (b"orders", b"orders"),
        (b"", b""),
        (b"eu.orders", b"eu.orders"),
        (b"eu:orders", b"--eu.orders"),
        (b"eu:de:orders", b"--eu.--de.orders"),
        (b"eu:fr:orders", b"--eu.fr:orders"),
        (b"team-a:orders", b"--team--a.orders"),
        (b"us:orders", b"us:orders"),
        (b"eu:", b"eu:"),
        (b":x", b":x"),
        (b"--x", b"--.--x"),
        (b"-x", b"-x"),
        (b"eu:--x", b"--eu.--.--x"),
        (b"\xff:x", b"\xff:x"),
        (b"x.:y", b"--x-d.y"),
    ],
)
def test_names_and_what_they_are_behind_the_prefix(name: bytes, tail: bytes) -> None:
    assert ROOT.physical(name) == tail
    assert ROOT.virtual(tail) == name


@pytest.mark.parametrize(
    "tail",
    [
        b"eu:orders",
        b"--us.orders",
        b"--eu.--fr.orders",
        b"--eu.",
        b"--x",
        b"--.x",
        b"--eu.--x",
        b"--eu_orders",
    ],
)
def test_what_has_no_name(tail: bytes) -> None:
    assert ROOT.virtual(tail) is None


def test_a_namespace_names_those_below_it() -> None:
    eu = RelativeNames(("eu",), EXISTING)

    assert eu.physical(b"de:orders") == b"--de.orders"
    assert eu.physical(b"eu:orders") == b"eu:orders"
    assert eu.virtual(b"--de.orders") == b"de:orders"
    assert eu.virtual(b"--eu.orders") is None


@pytest.mark.parametrize(
    ("separator", "name", "tail"),
    [
        ("..", b"eu..de..orders", b"--eu.--de.orders"),
        ("..", b"eu...x", b"--eu..x"),
        ("..", b"us..orders", b"us..orders"),
        ("..", b"eu:orders", b"eu:orders"),
        ("__", b"eu__orders", b"--eu.orders"),
        ("__", b"team-a__orders", b"--team--a.orders"),
    ],
)
def test_the_separator_may_be_another_one(separator: str, name: bytes, tail: bytes) -> None:
    names = RelativeNames((), EXISTING, separator)

    assert names.physical(name) == tail
    assert names.virtual(tail) == name


def test_a_tier_that_the_separator_would_divide_otherwise_is_not_named() -> None:
    assert RelativeNames((), EXISTING, "..").virtual(b"--x-d.orders") is None
    assert RelativeNames((), EXISTING, "__").virtual(b"--a-u.orders") is None


def test_a_tenant_without_namespaces_keeps_its_names() -> None:
    names = RelativeNames()

    for name in (b"orders", b"eu:orders", b"a..b", b"--eu.orders"):
        assert names.virtual(names.physical(name)) == name
    assert names.physical(b"eu:orders") == b"eu:orders"
    assert not names.has_namespaces


def test_tiers_in_a_text() -> None:
    assert ROOT.text(b"--eu.--de.") == b"eu:de:"
    assert ROOT.text(b"--us.") is None
    assert ROOT.has_namespaces
    assert RelativeNames(("eu",), EXISTING).has_namespaces
    assert not RelativeNames(("eu", "de"), EXISTING).has_namespaces
