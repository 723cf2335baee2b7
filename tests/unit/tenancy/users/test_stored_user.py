import pytest

from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.state.state_key import StateKey
from bifrost.tenancy.users.stored_user import StoredUser, read_user, unfit_name, user_body, user_key

SHA_256, SHA_512 = Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512
SALT = b"a salt of 16 byt"
VERIFIERS = {one: ScramVerifier.derive(one, b"password", SALT, 4096) for one in (SHA_256, SHA_512)}
BODY = user_body(("eu", "de"), VERIFIERS)


def test_a_user_is_read_as_it_was_written() -> None:
    user = read_user(user_key("acme", "acme-a:b"), BODY)

    assert user == StoredUser("acme", "acme-a:b", ("eu", "de"), VERIFIERS)
    assert read_user(user_key("acme", "x"), user_body((), VERIFIERS)).tiers == ()


def test_neither_password_nor_key_is_shown() -> None:
    shown = repr(read_user(user_key("acme", "acme-a"), BODY))

    assert "acme-a" in shown
    assert "password" not in str(BODY)
    for verifier in VERIFIERS.values():
        assert repr(verifier.stored_key) not in shown
        assert repr(verifier.server_key) not in shown


def changed(mechanism: str, **fields: object) -> dict[str, object]:
    credentials = {**BODY["credentials"], mechanism: {**BODY["credentials"][SHA_512], **fields}}
    return {**BODY, "credentials": credentials}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"namespace": "eu"},
        {**BODY, "more": 1},
        {**BODY, "namespace": None},
        {**BODY, "namespace": "eu::de"},
        {**BODY, "credentials": {}},
        {**BODY, "credentials": {"PLAIN": {}}},
        {**BODY, "credentials": {"SCRAM-SHA-256": {}}},
        changed("SCRAM-SHA-512", iterations=4095),
        changed("SCRAM-SHA-512", iterations="4096"),
        changed("SCRAM-SHA-512", salt="AAAA"),
        changed("SCRAM-SHA-512", salt=None),
        changed("SCRAM-SHA-512", stored_key="no base64!"),
        changed("SCRAM-SHA-256"),
        changed("SCRAM-SHA-512", more=1),
    ],
)
def test_another_body_is_no_user_and_is_not_repeated(body: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="run the version of the gateway that wrote it") as caught:
        read_user(user_key("acme", "acme-a"), body)

    assert BODY["credentials"][SHA_512]["stored_key"] not in str(caught.value)


@pytest.mark.parametrize("name", ["acme", ":acme-a", "acme:jörg", "acme:" + 257 * "a"])
def test_another_key_is_no_users(name: str) -> None:
    with pytest.raises(ValueError, match="the key of a user"):
        read_user(StateKey("user", name), BODY)


@pytest.mark.parametrize(
    ("name", "is_fit"),
    [("a", True), ("a b=c,d:e/f", True), ("", False), ("jörg", False), ("a\n", False), (256 * "a", True)],
)
def test_a_name_is_printable_ascii(name: str, is_fit: bool) -> None:
    assert (unfit_name(name) is None) == is_fit
