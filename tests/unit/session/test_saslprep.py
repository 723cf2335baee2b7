import pytest

from bifrost.session.saslprep import saslprep


@pytest.mark.parametrize(
    ("name", "prepared"),
    [
        # RFC 4013, section 3.
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("\u0007", None),
        ("\u06271", None),
        # Others.
        ("", ""),
        ("\u00adacme", "acme"),
        ("a\u00a0b", "a b"),
        ("jo\u0308rg", "jörg"),
        ("\ue000", None),
        ("\ufffd", None),
        ("\u202e", None),
        ("\u0627\u0628", "\u0627\u0628"),
        ("\u0627a\u0628", None),
        ("a\x7f", None),
    ],
)
def test_a_name_is_prepared(name: str, prepared: str | None) -> None:
    assert saslprep(name) == prepared
