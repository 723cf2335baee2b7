"""Whatever a client says instead of SCRAM, it is refused in order, and no client is let in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.authentication.accounts import Accounts, AuthenticationFailed
from bifrost.authentication.saslprep import saslprep
from bifrost.authentication.scram_server import ScramServer
from bifrost.config.fields.verifiers import SCRAM_HASHES, Mechanism
from support.clients.scram_client import ScramClient
from support.stage.stage import account

ACCOUNTS = Accounts([account("acme")], key=b"key")
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40)


def server(mechanism: Mechanism = Mechanism.SCRAM_SHA_256) -> ScramServer:
    return ScramServer(mechanism, ACCOUNTS, "server-nonce")


@given(st.lists(st.binary(max_size=200) | st.text(max_size=100).map(str.encode), max_size=3))
def test_no_bytes_let_a_client_in(tokens: list[bytes]) -> None:
    one = server()
    for token in tokens:
        with pytest.raises(AuthenticationFailed):
            one.respond(token)

    assert one.account is None


@given(NAMES, st.sampled_from(list(SCRAM_HASHES)))
def test_every_name_is_answered_alike(name: str, mechanism: Mechanism) -> None:
    client = ScramClient(mechanism, name, "guess")
    one = server(mechanism)

    first = one.respond(client.first())

    keys = [part.partition("=")[0] for part in first.decode().split(",")]
    assert keys == ["r", "s", "i"]
    assert len(first) == len(server(mechanism).respond(ScramClient(mechanism, "acme", "").first()))
    with pytest.raises(AuthenticationFailed):
        one.respond(client.final(first))
    assert one.account is None


@given(st.data())
def test_no_changed_byte_of_a_proof_lets_a_client_in(data: st.DataObject) -> None:
    client, one = ScramClient("SCRAM-SHA-256", "acme", "acme-password"), server()
    final = bytearray(client.final(one.respond(client.first())))
    # The last character but the padding holds bits that base64 passes over.
    place = data.draw(st.integers(0, len(final) - 3))
    final[place] ^= data.draw(st.integers(1, 127))

    with pytest.raises(AuthenticationFailed):
        one.respond(bytes(final))

    assert one.account is None


@given(st.text(max_size=60))
def test_what_is_prepared_stays_as_it_is(name: str) -> None:
    prepared = saslprep(name)

    assert prepared is None or saslprep(prepared) == prepared
