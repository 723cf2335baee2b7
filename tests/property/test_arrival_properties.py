"""Whatever comes before a client's first frame is read in order, or refused in words: never anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.authentication.distinguished_name import BadCertificate, read_subject
from bifrost.config.principals.principal_mapping import PrincipalMapping
from bifrost.session.first_bytes.foreign_protocol import recognise_foreign_protocol, recognise_plaintext
from bifrost.session.first_bytes.proxy_header import (
    HEAD_BYTES,
    MAX_REST_BYTES,
    SIGNATURE,
    BadProxyHeader,
    is_other,
    read_head,
    read_source,
)
from support.identity.certificates import Authority

CERTIFICATE = Authority("CA").client("billing").der
RULES = st.text(st.sampled_from("RULE:DEFAULT/^$.*+?()[]{}\\,|LU12abC=N -"), max_size=40)


@given(
    st.binary(min_size=HEAD_BYTES, max_size=HEAD_BYTES)
    | st.binary(min_size=4, max_size=4).map(SIGNATURE.__add__)
)
def test_every_head_is_read_or_refused(data: bytes) -> None:
    try:
        head = read_head(data)
    except BadProxyHeader:
        return
    assert not is_other(data)
    assert head.rest_bytes <= MAX_REST_BYTES
    source = read_source(head, bytes(head.rest_bytes))
    assert source in (None, ("0.0.0.0", 0), ("::", 0))


@given(st.binary(max_size=300))
def test_first_bytes_of_all_kinds_are_told_apart(data: bytes) -> None:
    found = recognise_plaintext(data, "SSL")

    assert (found is None) == (data[:2] == b"\x16\x03")
    assert (
        recognise_foreign_protocol(data) is None
        or recognise_foreign_protocol(data) != found
        or data[:2] != b"\x16\x03"
    )


@given(st.integers(0, len(CERTIFICATE) - 1), st.binary(min_size=1, max_size=8), st.booleans())
def test_every_certificate_has_a_name_or_is_refused(position: int, new: bytes, is_cut: bool) -> None:
    end = len(CERTIFICATE) if is_cut else position + len(new)
    changed = CERTIFICATE[:position] + new + CERTIFICATE[end:]
    try:
        name = read_subject(changed)
    except BadCertificate:
        return
    assert "=" in name or name == ""


@given(RULES | RULES.map("RULE:{}/$1/".format), st.text(max_size=30))
def test_rules_of_all_kinds_are_read_or_refused(rules: str, name: str) -> None:
    try:
        mapping = PrincipalMapping(rules)
    except ValueError:
        return
    principal = mapping.principal_of(name)
    assert principal is None or len(principal) <= 60 * (len(name) + 1) ** 2


@pytest.mark.parametrize("size", range(HEAD_BYTES))
def test_a_head_that_is_not_whole_is_not_yet_another_protocol(size: int) -> None:
    assert not is_other(SIGNATURE[:size])
