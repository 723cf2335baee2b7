"""Every message that brokers serve, at every version, as Kafka's own classes write it."""

import pytest

from golden.oracle import MESSAGES, NOT_IN_TABLE, OracleRun, combinations_of_table

# The first of these tests makes the whole run: half a minute, and jars may have to be fetched.
pytestmark = pytest.mark.timeout(300 if MESSAGES <= 10 else 0)


def test_everything_that_kafkas_classes_say_brokers_serve_is_covered(oracle: OracleRun):
    assert oracle.covered == oracle.served - NOT_IN_TABLE.keys()
    assert oracle.covered == combinations_of_table()


def test_only_what_a_release_really_has_is_left_out(oracle: OracleRun):
    assert oracle.served >= NOT_IN_TABLE.keys()
    assert not combinations_of_table() & NOT_IN_TABLE.keys()


def test_the_table_says_what_kafkas_own_schemas_say(oracle: OracleRun):
    assert oracle.failures["schema"] == []
    assert oracle.counts["schemas"] == len(oracle.covered)


def test_decode_gives_kafkas_json(oracle: OracleRun):
    assert oracle.failures["decode"] == []
    assert oracle.counts["messages"] == len(oracle.covered) * MESSAGES


def test_encode_gives_kafkas_bytes(oracle: OracleRun):
    assert oracle.failures["encode"] == []


def test_rewrite_with_the_same_names_changes_nothing(oracle: OracleRun):
    assert oracle.failures["rewrite"] == []


def test_rewrite_with_other_names_gives_kafkas_bytes_of_these_names(oracle: OracleRun):
    assert oracle.failures["rename"] == []
    assert oracle.counts["renamed"] == oracle.counts["messages"] - oracle.counts["fell back"]


def test_unknown_tagged_fields_are_decoded_over_and_never_rewritten(oracle: OracleRun):
    assert oracle.failures["unknown"] == []
    assert oracle.counts["unknown"] > 0
