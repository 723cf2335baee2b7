import pytest

from bifrost.authentication.mechanism_choice import MAX_REMEMBERED, MechanismChoice
from bifrost.authentication.sasl_client import LoginFailed
from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.upstream_sasl import UpstreamMechanism, UpstreamSasl

PLAIN, SHA_256, SHA_512 = (
    UpstreamMechanism.PLAIN,
    UpstreamMechanism.SCRAM_SHA_256,
    UpstreamMechanism.SCRAM_SHA_512,
)
TLS = ClientTls()
ADDRESS = "kafka-1:9092"


def choice(mechanism: UpstreamMechanism | None = None, tls: ClientTls | None = TLS) -> MechanismChoice:
    return MechanismChoice(UpstreamSasl(mechanism=mechanism, username="gateway"), tls)


def refusal(one: MechanismChoice, *offered: str) -> str:
    with pytest.raises(LoginFailed) as caught:
        one.choose(ADDRESS, one.at(ADDRESS), offered)
    return str(caught.value)


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (("PLAIN", "SCRAM-SHA-256", "GSSAPI"), SHA_256),
        (("GSSAPI", "PLAIN"), PLAIN),
        (("SCRAM-SHA-256",), SHA_256),
    ],
)
def test_the_strongest_that_the_broker_offers_is_chosen_and_remembered(
    offered: tuple[str, ...], expected: UpstreamMechanism
) -> None:
    one = choice()
    assert one.at(ADDRESS) is SHA_512

    assert one.choose(ADDRESS, SHA_512, offered) is expected
    assert one.at(ADDRESS) is expected


def test_a_broker_that_is_new_is_first_asked_for_what_the_one_before_offers() -> None:
    one = choice()
    one.choose(ADDRESS, SHA_512, ["SCRAM-SHA-256"])

    assert one.at("kafka-2:9092") is SHA_256
    one.choose("kafka-2:9092", SHA_256, ["SCRAM-SHA-512"])
    assert (one.at(ADDRESS), one.at("kafka-2:9092"), one.at("kafka-3:9092")) == (SHA_256, SHA_512, SHA_512)


def test_two_connections_that_are_refused_together_choose_the_same() -> None:
    one = choice()

    assert one.choose(ADDRESS, SHA_512, ["SCRAM-SHA-256", "PLAIN"]) is SHA_256
    assert one.choose(ADDRESS, SHA_512, ["SCRAM-SHA-256", "PLAIN"]) is SHA_256


@pytest.mark.parametrize("tls", [None, ClientTls(verify_hostname=False)], ids=["clear", "any-certificate"])
def test_plain_is_not_chosen_where_an_attacker_could_read_the_password(tls: ClientTls | None) -> None:
    one = choice(tls=tls)

    text = refusal(one, "PLAIN", "GSSAPI")

    assert text.startswith("the broker does not offer SCRAM-SHA-512 or SCRAM-SHA-256, but PLAIN, GSSAPI: ")
    assert "allow it by mechanism: PLAIN" in text
    assert one.at(ADDRESS) is SHA_512
    assert one.choose(ADDRESS, SHA_512, ["PLAIN", "SCRAM-SHA-256"]) is SHA_256


def test_plain_that_the_operator_names_is_used_anywhere() -> None:
    assert choice(PLAIN, tls=None).at(ADDRESS) is PLAIN


@pytest.mark.parametrize("named", [PLAIN, SHA_512])
def test_a_mechanism_that_is_named_is_never_replaced(named: UpstreamMechanism) -> None:
    one = choice(named)

    assert (
        refusal(one, "SCRAM-SHA-256")
        == f"the broker does not offer {named}, but SCRAM-SHA-256: mend mechanism"
    )
    assert one.at(ADDRESS) is named


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        ((), "no other that is known here"),
        (("GSSAPI", "OAUTHBEARER"), "OAUTHBEARER, GSSAPI"),
        (("AWS_MSK_IAM\n\x1b[2J",), "no other that is known here"),
        (("SCRAM-SHA-512",), "SCRAM-SHA-512"),  # which it has just refused
    ],
)
def test_a_broker_that_offers_nothing_for_the_account_is_told_by_what_it_offers(
    offered: tuple[str, ...], words: str
) -> None:
    assert f", but {words}: mend the keys of the account" in refusal(choice(), *offered)


def test_what_is_remembered_is_bounded() -> None:
    one = choice()
    for number in range(MAX_REMEMBERED + 1):
        one.choose(f"kafka-{number}:9092", SHA_512, ["SCRAM-SHA-256"])

    assert len(one._at) == 1
