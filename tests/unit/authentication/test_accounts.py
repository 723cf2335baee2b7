import pytest

from bifrost.authentication.accounts import Account, Accounts
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.config.secrets import Secret
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.users.stored_user import user_body, user_key
from bifrost.tenancy.users.stored_users import Allowance, StoredUsers
from support.identity.passwords import proved_account

SALT = b"a salt of 16 byt"
SHA_256, SHA_512 = Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512


def verifier(password: str, mechanism: Mechanism = SHA_256, iterations: int = 4096) -> ScramVerifier:
    return ScramVerifier.derive(mechanism, password.encode(), SALT, iterations)


def account(name: str, *verifiers: ScramVerifier, password: str | None = None) -> Account:
    secret = None if password is None else Secret(password.encode())
    return Account(name, f"tenant of {name}", secret, {one.mechanism: one for one in verifiers})


PLAIN = account("plain", password="p")
BOTH = account("both", verifier("b"), verifier("b", SHA_512), password="b")
SALTED = account("salted", verifier("s", SHA_512, 8192))
ACCOUNTS = Accounts([PLAIN, BOTH, SALTED], key=b"key")
STRANGERS = [f"stranger-{number}" for number in range(64)]


@pytest.mark.parametrize(("one", "password"), [(PLAIN, b"p"), (BOTH, b"b"), (SALTED, b"s")])
def test_a_password_matches_its_account_alone(one: Account, password: bytes) -> None:
    assert proved_account(ACCOUNTS, one.username, password) is one
    assert proved_account(ACCOUNTS, one.username, password + b"x") is None
    assert proved_account(ACCOUNTS, one.username.upper(), password) is None


@pytest.mark.parametrize("name", ["", "unknown", "\ud800", *STRANGERS[:8]])
def test_an_unknown_user_matches_no_password(name: str) -> None:
    for password in (
        b"",
        b"p",
        b"b",
        b"s",
        b"no account has this password: it is compared for unknown users",
    ):
        assert proved_account(ACCOUNTS, name, password) is None


def test_an_unknown_name_is_compared_as_often_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(Secret, "matches", lambda _self, _password: compared.append("digest"))
    monkeypatch.setattr(ScramVerifier, "matches", lambda _self, _password: compared.append("derived"))

    for name in ("plain", "salted", *STRANGERS):
        proved_account(ACCOUNTS, name, b"guess")

    assert len(compared) == 2 + len(STRANGERS)
    # Strangers are spread over the kinds that there are.
    assert {"digest", "derived"} == set(compared[2:])


def test_a_verifier_is_that_of_its_account() -> None:
    assert ACCOUNTS.verifier("both", SHA_256) == (BOTH, BOTH.verifiers[SHA_256])
    assert ACCOUNTS.verifier("salted", SHA_512) == (SALTED, SALTED.verifiers[SHA_512])


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_an_unknown_name_gets_a_verifier_of_the_same_shapes(mechanism: Mechanism) -> None:
    known = {
        (len(one.verifiers[mechanism].salt), one.verifiers[mechanism].iterations)
        for one in (BOTH, SALTED)
        if mechanism in one.verifiers
    }

    found = [ACCOUNTS.verifier(name, mechanism) for name in STRANGERS]

    assert {account for account, _ in found} == {None}
    assert {(len(one.salt), one.iterations) for _, one in found} == known
    assert len({one.salt for _, one in found}) == len(STRANGERS)
    assert found == [ACCOUNTS.verifier(name, mechanism) for name in STRANGERS]


def test_who_has_no_verifier_for_a_mechanism_is_as_unknown() -> None:
    for one in (PLAIN, SALTED):
        account, imitated = ACCOUNTS.verifier(one.username, SHA_256)
        assert account is None
        assert not imitated.matches(b"s")


def test_another_process_makes_other_salts() -> None:
    other = Accounts([BOTH], key=b"other")

    assert other.verifier("unknown", SHA_256)[1].salt != ACCOUNTS.verifier("unknown", SHA_256)[1].salt


def test_mechanisms_are_those_that_some_user_can_use() -> None:
    assert ACCOUNTS.mechanisms == (Mechanism.PLAIN, SHA_256, SHA_512)
    assert Accounts([PLAIN], key=b"").mechanisms == (Mechanism.PLAIN,)
    assert Accounts([SALTED], key=b"").mechanisms == (Mechanism.PLAIN, SHA_512)


def test_a_name_is_found_as_it_stands_and_as_saslprep_has_it() -> None:
    decomposed = account("jo\u0308rg", verifier("x"))
    accounts = Accounts([decomposed], key=b"")

    for name in ("jo\u0308rg", "jörg", "jö\u00adrg"):
        assert accounts.verifier(name, SHA_256)[0] is decomposed
    assert accounts.verifier("\u0007", SHA_256)[0] is None


def test_a_name_as_it_stands_goes_before_one_that_is_only_prepared_alike() -> None:
    plain, feminine = account("a", verifier("x")), account("\u00aa", verifier("y"))
    accounts = Accounts([feminine, plain], key=b"")

    assert accounts.verifier("a", SHA_256)[0] is plain
    assert accounts.verifier("\u00aa", SHA_256)[0] is feminine


def test_a_name_that_could_be_two_is_of_no_account() -> None:
    accounts = Accounts([account("\u2168", verifier("x")), account("\uff29\uff38", verifier("y"))], key=b"")

    assert accounts.verifier("IX", SHA_256)[0] is None
    assert accounts.verifier("\u2168", SHA_256)[0] is not None


def test_a_principal_has_no_password_that_a_client_could_guess() -> None:
    vouched = Account("CN=app", "acme")
    accounts = Accounts([PLAIN, vouched], key=b"key")

    assert accounts.of_principal("CN=app") is vouched
    assert accounts.of_principal("plain") is None
    assert accounts.of_principal("unknown") is None
    assert proved_account(accounts, "CN=app", b"") is None
    assert proved_account(accounts, "plain", b"p") is PLAIN


def test_without_a_password_no_mechanism_with_passwords_is_offered() -> None:
    assert Accounts([Account("CN=app", "acme")], key=b"key").mechanisms == ()


def test_no_account_shows_its_password() -> None:
    shown = repr(BOTH)

    assert "Secret(***)" in shown
    assert "ScramVerifier(SCRAM-SHA-256, ***)" in shown
    assert repr(BOTH.verifiers[SHA_256].stored_key)[2:-1] not in shown


def test_where_only_one_tenants_users_authenticate_others_have_wrong_passwords() -> None:
    principal = Account("CN=billing", "tenant of both")
    all_accounts = Accounts([PLAIN, BOTH, SALTED, principal], key=b"key")
    own = all_accounts.only_of("tenant of both")

    assert proved_account(own, "both", b"b") is BOTH
    assert proved_account(own, "plain", b"p") is None
    assert own.of_principal("CN=billing") is principal
    assert all_accounts.only_of("tenant of plain").of_principal("CN=billing") is None
    # The salt is the same everywhere: another one would tell that the user is known elsewhere.
    assert own.verifier("salted", SHA_512) == (None, SALTED.verifiers[SHA_512])
    assert all_accounts.verifier("salted", SHA_512) == (SALTED, SALTED.verifiers[SHA_512])
    assert own.verifier("stranger", SHA_512) == all_accounts.verifier("stranger", SHA_512)
    assert own.mechanisms == all_accounts.mechanisms


def test_who_is_not_in_the_configuration_has_not_left_it() -> None:
    accounts = Accounts([PLAIN], key=b"key")

    assert accounts.still_has(Account("any-user", "acme", is_listed=False))
    assert not accounts.still_has(Account("any-user", "acme"))


def stored_users() -> StoredUsers:
    users = StoredUsers()
    users.allow({"acme": Allowance("acme-", 10, frozenset({"acme-fixed"}))})
    for name, tiers in (("acme-made", ("eu",)), ("acme-fixed", ())):
        key = user_key("acme", name)
        body = user_body(tiers, {SHA_512: verifier("made", SHA_512)})
        users.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))
    return users


def test_a_user_that_a_tenant_has_made_is_found_by_scram_alone() -> None:
    accounts = Accounts([PLAIN, SALTED], key=b"key", stored=stored_users())

    found, made = accounts.verifier("acme-made", SHA_512)

    assert found is not None
    assert (found.username, found.tenant, found.namespace) == ("acme-made", "acme", ("eu",))
    assert made == verifier("made", SHA_512)
    assert accounts.verifier("acme-made", SHA_256)[0] is None
    assert proved_account(accounts, "acme-made", b"made") is None
    assert accounts.only_of("globex").verifier("acme-made", SHA_512)[0] is None
    assert accounts.mechanisms == (Mechanism.PLAIN, SHA_256, SHA_512)


def test_a_user_of_the_configuration_is_not_hidden_by_one_that_a_tenant_has_made() -> None:
    fixed = account("acme-fixed", verifier("fixed", SHA_512))
    accounts = Accounts([fixed], key=b"key", stored=stored_users())

    assert accounts.verifier("acme-fixed", SHA_512) == (fixed, verifier("fixed", SHA_512))
    assert Accounts([PLAIN], key=b"key", stored=stored_users()).verifier("acme-fixed", SHA_512)[0] is None


def test_a_deleted_user_has_no_account_any_more() -> None:
    users = stored_users()
    accounts = Accounts([PLAIN], key=b"key", stored=users)
    found, _ = accounts.verifier("acme-made", SHA_512)
    assert found is not None

    before = accounts.still_has(found)
    users.apply(user_key("acme", "acme-made"), None)

    assert (before, accounts.still_has(found)) == (True, False)
    assert accounts.verifier("acme-made", SHA_512)[0] is None


def test_unknown_users_look_like_those_that_kafkas_tool_makes_or_like_the_others() -> None:
    users = stored_users()
    accounts = Accounts([SALTED], key=b"key", stored=users)

    shapes = {accounts.verifier(name, SHA_512)[1].iterations for name in STRANGERS}
    before = [accounts.verifier(name, SHA_512)[1] for name in STRANGERS]
    users.apply(user_key("acme", "acme-made"), None)

    assert shapes == {4096, 8192}
    assert [accounts.verifier(name, SHA_512)[1] for name in STRANGERS] == before
    assert Accounts([], key=b"key", stored=users).mechanisms == (SHA_256, SHA_512)
