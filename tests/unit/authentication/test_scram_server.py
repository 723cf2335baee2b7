from base64 import b64decode

import pytest

from bifrost.authentication.accounts import Account, Accounts, AuthenticationFailed
from bifrost.authentication.scram_server import MAX_TOKEN_BYTES, REPEATED_NONCE, ScramServer
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from support.clients.scram_client import ScramClient
from support.stage.stage import account as account_of

MECHANISMS = (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)
ODD = "a=b,c=2C"


def named(name: str, password: str) -> Account:
    verifiers = {
        one: ScramVerifier.derive(one, password.encode(), b"salt of sixteen.", 4096) for one in MECHANISMS
    }
    return Account(name, "initech", None, verifiers)


ACCOUNTS = Accounts([account_of("acme"), named(ODD, "odd"), named("jörg", "paßwort")], key=b"key")


def server(mechanism: Mechanism = MECHANISMS[0], nonce: str = "server-nonce") -> ScramServer:
    return ScramServer(mechanism, ACCOUNTS, nonce)


def client(name: str = "acme", password: str | None = None, mechanism: str = "SCRAM-SHA-256") -> ScramClient:
    return ScramClient(mechanism, name, password or "acme-password")


def refusal(one: ScramServer, token: bytes) -> AuthenticationFailed:
    """What is said to a token that fails; nothing is proved then or later."""
    with pytest.raises(AuthenticationFailed) as caught:
        one.respond(token)
    assert one.account is None
    with pytest.raises(AuthenticationFailed):
        one.respond(token)
    assert one.account is None
    return caught.value


def test_the_exchange_of_rfc_7677() -> None:
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    verifier = ScramVerifier.derive(MECHANISMS[0], b"pencil", salt, 4096)
    user = Account("user", "acme", None, {MECHANISMS[0]: verifier})
    one = ScramServer(MECHANISMS[0], Accounts([user], key=b""), "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")

    first = one.respond(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    final = one.respond(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )

    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert one.account is user


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("name", "password"),
    [("acme", "acme-password"), (ODD, "odd"), ("jörg", "paßwort"), ("jo\u0308rg", "paßwort")],
)
def test_who_knows_the_password_proves_it_and_is_shown_that_we_do(
    mechanism: Mechanism, name: str, password: str
) -> None:
    one, other = server(mechanism), client(name, password, mechanism)

    first = one.respond(other.first())
    assert one.account is None
    final = one.respond(other.final(first))

    assert other.trusts(final)
    assert one.account is not None
    assert one.account.username in (name, "jörg")


@pytest.mark.parametrize("gs2", ["n,,", "y,,", "n,a=acme,", "y,a=acme,"])
def test_who_could_bind_a_channel_or_names_itself_twice_is_let_in(gs2: str) -> None:
    one, other = server(), client()
    other.gs2 = gs2

    final = one.respond(other.final(one.respond(other.first())))

    assert other.trusts(final)
    assert one.account is account_of("acme")


@pytest.mark.parametrize("extensions", [",future=yes", ",tokenauth=false", ",a=b,c=d=e", ",empty="])
def test_unknown_extensions_are_passed_over(extensions: str) -> None:
    one, other = server(), client()
    other.extensions = extensions

    assert other.trusts(one.respond(other.final(one.respond(other.first()))))


TEXT = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
)

TOKEN = "the client wants to authenticate with a delegation token; none are served"


@pytest.mark.parametrize(
    ("token", "detail"),
    [
        (b"", "a malformed first SCRAM message"),
        (b"\xff\xfe", "a SCRAM message that is not UTF-8"),
        (b"n,,n=acme", "a malformed first SCRAM message"),
        (b"n,,r=abc,n=acme", "a malformed first SCRAM message"),
        (b"n,,n=,r=abc", "a malformed first SCRAM message"),
        (b"n,,n=acme,r=", "a malformed first SCRAM message"),
        (b"n,,n=acme,r=a b", "a malformed first SCRAM message"),
        ("n,,n=acme,r=ä".encode(), "a malformed first SCRAM message"),
        (b"n,,n=ac=me,r=abc", "a malformed first SCRAM message"),
        (b"n,,n=ac=2cme,r=abc", "a malformed first SCRAM message"),
        (b"n,,n=ac\0me,r=abc", "a malformed first SCRAM message"),
        (b"n,,n=acme,r=abc,", "a malformed first SCRAM message"),
        (b"n,,n=acme,r=abc,1=2", "a malformed first SCRAM message"),
        (b"x,,n=acme,r=abc", "a malformed first SCRAM message"),
        (b"n,b=c,n=acme,r=abc", "a malformed first SCRAM message"),
        (b"\0acme\0acme-password", "a malformed first SCRAM message"),
        (b"n,,n=acme,r=abc\n", "a malformed first SCRAM message"),
        (b"p=tls-unique,,n=acme,r=abc", "the client wants channel binding, which is not offered"),
        (b"p=,,n=acme,r=abc", "the client wants channel binding, which is not offered"),
        (b"n,,m=future,n=acme,r=abc", "the client wants a SCRAM extension that is not known"),
        (b"n,,n=acme,r=abc,tokenauth=true", TOKEN),
        (b"n,,n=acme,r=abc,tokenauth=TRUE", TOKEN),
        (b"n,,n=unknown,r=abc,tokenauth=1", TOKEN),
    ],
)  # fmt: skip
def test_a_first_message_that_is_none_is_refused(token: bytes, detail: str) -> None:
    failed = refusal(server(), token)

    assert (str(failed), failed.detail) == (TEXT, detail)


def test_an_authorization_id_of_another_user_is_refused() -> None:
    for name in ("acme", "unknown"):
        other = client(name)
        other.gs2 = "n,a=globex,"
        assert "authorization id that is different from username" in str(refusal(server(), other.first()))


@pytest.mark.parametrize("size", [MAX_TOKEN_BYTES, MAX_TOKEN_BYTES + 1])
def test_a_message_has_a_largest_size(size: int) -> None:
    one, other = server(), client()
    other.nonce = "n" * (size - len(other.first()) + len(other.nonce))
    assert len(other.first()) == size

    if size <= MAX_TOKEN_BYTES:
        assert one.respond(other.first()).startswith(f"r={other.nonce}server-nonce".encode())
    else:
        assert refusal(one, other.first()).detail == "a SCRAM message of 4097 bytes, at most 4096 are read"


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        (b"c=biws", b"c=eSws", "the SCRAM channel binding is not what the client first said"),
        (b"c=biws", b"c=biwsAA==", "the SCRAM channel binding is not what the client first said"),
        (b"c=biws", b"c=biw", "a final SCRAM message that is not base64"),
        (b"c=biws,", b"", "a malformed final SCRAM message"),
        (b"server-nonce", b"server-nonc", "the SCRAM nonce is not this exchange's"),
        (b"server-nonce", b"server-nonce-of-yesterday", "the SCRAM nonce is not this exchange's"),
        (b",p=", b",q=", "a malformed final SCRAM message"),
        (b",p=", b",p=AAAA", "wrong user name or password"),
        (b",p=", b",x=y,p=", "wrong user name or password"),
        (b",p=", b",p==", "a final SCRAM message that is not base64"),
    ],
)
def test_a_final_message_that_is_not_this_exchange_s_is_refused(old: bytes, new: bytes, detail: str) -> None:
    one, other = server(), client()
    final = other.final(one.respond(other.first()))
    assert old in final

    failed = refusal(one, final.replace(old, new))

    assert (str(failed), failed.detail) == (TEXT, detail)


KCAT = {
    "SCRAM-SHA-256": (
        b"n,,n=acme,r=@UNWUmm6.X7wlpqvhdYYI?4-`]bFNCLZ",
        b"c=biws,r=@UNWUmm6.X7wlpqvhdYYI?4-`]bFNCLZ@UNWUmm6.X7wlpqvhdYYI?4-`]bFNCLZserver-nonce,"
        b"p=udAlavchKLwR+Z4HYvyTY1FCBmFh0LeQkX65REmra9Y=",
        b"v=49OdFLbzZ8QZQodfkuk7dlClugNUpGA4y9eDZp+DHN0=",
    ),
    "SCRAM-SHA-512": (
        b"n,,n=acme,r=d~953x=0~^RM:FERlZK<QYePrGXsAl?4",
        b"c=biws,r=d~953x=0~^RM:FERlZK<QYePrGXsAl?4d~953x=0~^RM:FERlZK<QYePrGXsAl?4server-nonce,"
        b"p=vuMaQCD3WMHrvwo1aEacLv4c1O71CUxAY6h7MBD0BRdpIiOR2rrBaj4aYaqZbp7dKOz5H9Dw1jtcccT4nX4U2w==",
        b"v=Hvqc9ESpc3GmUVIdbtdm6VOquontIgBXroFK96luvx5+OIG+EA8MMR3FN+8yJ1lZcdMw0ZFgppRad+LMVjVl4g==",
    ),
}
"""What kcat 1.7.1 with librdkafka 2.0.2 sent in an exchange with this password and salt, and its answer."""


def of_kcat(mechanism: Mechanism, *, allows: bool) -> ScramServer:
    accounts = Accounts([named("acme", "acme-password")], key=b"key")
    return ScramServer(mechanism, accounts, "server-nonce", allows_repeated_nonce=allows)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_nonce_that_librdkafka_before_2_6_1_repeats_is_taken_where_the_operator_allows_it(
    mechanism: Mechanism,
) -> None:
    first, final, answer = KCAT[mechanism]
    one = of_kcat(mechanism, allows=True)
    one.respond(first)

    assert one.respond(final) == answer
    assert one.account is not None


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_repeated_nonce_is_refused_by_default_and_the_log_names_the_cause(mechanism: Mechanism) -> None:
    first, final, _ = KCAT[mechanism]
    one = of_kcat(mechanism, allows=False)
    one.respond(first)

    failed = refusal(one, final)

    assert (str(failed), failed.detail) == (TEXT.replace("SCRAM-SHA-256", mechanism), REPEATED_NONCE)


CLIENT_NONCE = client().nonce


@pytest.mark.parametrize(
    ("nonce", "detail"),
    [
        (f"{CLIENT_NONCE}{CLIENT_NONCE}server-nonce", "wrong user name or password"),  # of another password
        (f"{CLIENT_NONCE * 3}server-nonce", "the SCRAM nonce is not this exchange's"),
        (f"{CLIENT_NONCE}server-nonceserver-nonce", "the SCRAM nonce is not this exchange's"),
        (f"x{CLIENT_NONCE}server-nonce", "the SCRAM nonce is not this exchange's"),
        (f"{'x' * len(CLIENT_NONCE)}{CLIENT_NONCE}server-nonce", "the SCRAM nonce is not this exchange's"),
        (f"{CLIENT_NONCE}{CLIENT_NONCE}", "the SCRAM nonce is not this exchange's"),
        (CLIENT_NONCE, "the SCRAM nonce is not this exchange's"),
        ("server-nonce", "the SCRAM nonce is not this exchange's"),
    ],
)
def test_no_other_nonce_is_taken_where_a_repeated_one_is(nonce: str, detail: str) -> None:
    one = of_kcat(MECHANISMS[0], allows=True)
    other = client(password="guess" if nonce.startswith(CLIENT_NONCE * 2) else None)

    assert refusal(one, other.final(one.respond(other.first()), nonce=nonce)).detail == detail


def test_a_correct_client_is_taken_where_a_repeated_nonce_is() -> None:
    one, other = of_kcat(MECHANISMS[0], allows=True), client()

    assert other.trusts(one.respond(other.final(one.respond(other.first()))))


def test_a_repeated_nonce_of_another_exchange_is_worth_nothing() -> None:
    first, final, _ = KCAT["SCRAM-SHA-256"]
    accounts = Accounts([named("acme", "acme-password")], key=b"key")
    one = ScramServer(MECHANISMS[0], accounts, "another-nonce", allows_repeated_nonce=True)
    one.respond(first)

    assert refusal(one, final).detail == "the SCRAM nonce is not this exchange's"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("name", "password"), [("acme", "guess"), ("unknown", "acme-password"), ("ACME", "x")]
)
def test_a_wrong_password_and_an_unknown_user_are_told_the_same(
    mechanism: Mechanism, name: str, password: str
) -> None:
    one, other = server(mechanism), client(name, password, mechanism)

    failed = refusal(one, other.final(one.respond(other.first())))

    assert str(failed) == TEXT.replace("SCRAM-SHA-256", mechanism)
    assert failed.detail == "wrong user name or password"


def test_known_and_unknown_users_see_exchanges_of_the_same_shape() -> None:
    def shape(name: str) -> list[tuple[str, int]]:
        answer = server().respond(client(name).first()).decode()
        parts = [part.partition("=")[::2] for part in answer.split(",")]
        assert parts[2] == ("i", "4096")
        return [(key, len(value)) for key, value in parts]

    assert {tuple(shape(name)) for name in (ODD, "jörg", "unknown", "acmf", "x" * 200)} <= {
        tuple(shape("acme")),
        tuple(shape(ODD)),
    }


def test_the_salt_of_an_unknown_user_stays() -> None:
    answers = {server().respond(client("unknown").first()) for _ in range(3)}

    assert len(answers) == 1


def test_another_user_cannot_be_put_in_between() -> None:
    one, acme, odd = server(), client(), client(ODD, "odd")
    first = one.respond(odd.first())

    assert refusal(one, acme.final(first)).detail == "wrong user name or password"


def test_a_second_first_message_ends_the_exchange() -> None:
    one, other = server(), client()
    one.respond(other.first())

    assert refusal(one, other.first()).detail == "a malformed final SCRAM message"


def test_an_answer_of_another_exchange_is_worth_nothing() -> None:
    other = client()
    recorded = other.final(server(nonce="first").respond(other.first()))
    one = server(nonce="second")
    one.respond(other.first())

    assert refusal(one, recorded).detail == "the SCRAM nonce is not this exchange's"


def test_a_token_after_the_end_fails() -> None:
    one, other = server(), client()
    final = other.final(one.respond(other.first()))
    one.respond(final)

    with pytest.raises(AuthenticationFailed) as caught:
        one.respond(final)

    assert caught.value.detail == "a token after the end of the SCRAM exchange"


@pytest.mark.parametrize(("char", "wire"), [("a", b"a"), ("\ufdfa", "\ufdfa".encode()), (",", b"=2C")])
def test_a_user_name_has_a_longest_length(char: str, wire: bytes) -> None:
    assert server().respond(b"n,,n=" + wire * 256 + b",r=nonce").startswith(b"r=nonce")

    failure = refusal(server(), b"n,,n=" + wire * 257 + b",r=nonce")

    assert failure.detail == "a user name of 257 characters, at most 256 are read"
