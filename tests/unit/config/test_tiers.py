import pytest

from bifrost.config.tiers import MAX_TIERS_LENGTH, decode, encode, misfit


@pytest.mark.parametrize(
    ("tiers", "code"),
    [
        ((), ""),
        (("eu",), "--eu."),
        (("analytics", "eu"), "--analytics.--eu."),
        (("team-a.b_c",), "--team--a-db-uc."),
        (("-",), "----."),
    ],
)
def test_tiers_come_before_the_name(tiers: tuple[str, ...], code: str) -> None:
    assert encode(tiers) == code

    rest = (code + "orders").encode()
    for tier in tiers:
        found = decode(rest)
        assert found is not None
        assert found[0] == tier
        rest = found[1]
    assert rest == b"orders"
    assert decode(rest) is None


@pytest.mark.parametrize(
    "name", [b"--", b"--.x", b"--eu", b"---x.y", b"--a_b.x", b"-eu.x", b"--e\xff.x", b"---d.x"]
)
def test_what_shows_no_tier(name: bytes) -> None:
    assert decode(name) is None


@pytest.mark.parametrize("tier", ["", ".", "..", "a:b", "a/b", "ä", "a b", "a\n"])
def test_what_is_no_tier(tier: str) -> None:
    text = misfit(["eu", tier])

    assert text is not None
    assert "is no namespace: write its tiers with : between" in text


def test_tiers_have_a_longest_length() -> None:
    assert misfit(["a" * 31, "b" * 32]) is None
    assert (
        misfit(["a" * 32, "b" * 32])
        == f"namespace '{'a' * 32}:{'b' * 32}' has 65 characters, and may have {MAX_TIERS_LENGTH}"
    )
