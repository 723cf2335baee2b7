import re
from pathlib import Path

from bench.hostile.arsenal import ATTACKS
from bench.hostile.crowd import CLIENTS, SOURCES, source_of
from bench.hostile.salted import SALTED, salted_credential
from bench.hostile.stage import MAX_CONNECTIONS

from bifrost.authentication.accounts import Account, Accounts
from bifrost.config.fields.limits import Limits
from bifrost.config.fields.verifiers import MAX_ITERATIONS, read_verifiers
from bifrost.gateway.clients.connection_shares import shares_of


def test_a_crowd_comes_from_addresses_that_no_other_attack_has() -> None:
    found = {source_of("127.1.0.7", number) for number in range(SOURCES)}

    assert len(found) == SOURCES
    assert {source.split(".", 2)[2] for source in found} == {"0.7"}
    assert source_of("", 3) == ""


def test_a_crowd_leaves_places_for_the_victim() -> None:
    shares = shares_of(Limits(max_connections=MAX_CONNECTIONS), 2, 1)

    assert shares.unauthenticated - CLIENTS >= 50
    assert shares.unauthenticated_of_address > CLIENTS / SOURCES


def test_the_descriptions_say_how_many_there_are() -> None:
    told = [one.what for one in ATTACKS.values() if "at once from" in one.what]

    assert len(told) >= 4
    for what in told:
        assert re.search(rf"{CLIENTS}( clients)? at once from {SOURCES} addresses", what), what


def test_the_verifiers_of_its_user_are_the_most_expensive_ones(tmp_path: Path) -> None:
    credential = salted_credential(tmp_path, "secret")

    (verifier,) = read_verifiers((tmp_path / credential["scram_file"]).read_text())
    account = Account(SALTED, "attacker", verifiers={verifier.mechanism: verifier})
    assert credential["username"] == SALTED
    assert verifier.iterations == MAX_ITERATIONS
    assert not Accounts([account], key=b"key").check(SALTED, b"wrong").is_done
