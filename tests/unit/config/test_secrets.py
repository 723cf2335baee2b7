import copy
import pickle
import traceback

import pytest
from pydantic import ValidationError

from bifrost.config.fields.tenants import Auth, Credential, Tenant
from bifrost.config.secrets import Secret


def credential() -> Credential:
    return Credential(username="acme", password_file="acme.password", password=Secret(b"hunter2"))


def test_only_the_secret_itself_matches() -> None:
    secret = Secret(b"hunter2")

    assert secret.matches(b"hunter2")
    assert not any(secret.matches(other) for other in (b"", b"hunter", b"hunter22", b"Hunter2"))
    assert Secret(b"").matches(b"")


def test_the_comparison_takes_digests_of_equal_length(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[tuple[int, int]] = []

    def compare_digest(one: bytes, other: bytes) -> bool:
        lengths.append((len(one), len(other)))
        return False

    monkeypatch.setattr("hmac.compare_digest", compare_digest)

    assert not Secret(b"hunter2").matches(b"x")
    assert lengths == [(32, 32)]


def test_no_way_of_printing_shows_the_value() -> None:
    secret = Secret(b"hunter2")
    user = credential()
    tenant = Tenant(name="acme", auth=Auth(credentials=(user,)))

    printed = [repr(secret), str(secret), f"{secret}", f"{secret!r:>20}", "%s" % secret, repr([secret])]  # noqa: UP031
    printed += [repr(user), str(tenant), repr(tenant.model_dump()), tenant.model_dump_json()]

    assert printed[:3] == ["Secret(***)"] * 3
    assert "hunter2" not in "".join(printed)
    assert '"password":"Secret(***)"' in printed[-1]


def test_the_value_is_not_kept() -> None:
    secret = Secret(b"hunter2")

    assert not any(b"hunter2" in getattr(secret, slot) for slot in Secret.__slots__)
    assert not hasattr(secret, "__dict__")


def test_a_secret_is_not_pickled_and_copies_as_itself() -> None:
    secret = Secret(b"hunter2")

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(secret, protocol)
    assert copy.copy(secret) is secret
    assert copy.deepcopy([secret])[0] is secret


def test_a_secret_does_not_change_and_compares_by_value() -> None:
    secret = Secret(b"hunter2")

    with pytest.raises(AttributeError):
        secret._digest = b""
    assert secret == Secret(b"hunter2")
    assert hash(secret) == hash(Secret(b"hunter2"))
    assert secret != Secret(b"other")
    assert secret != b"hunter2"


def test_the_model_refuses_a_plain_value_without_repeating_it() -> None:
    plain = "hunter2"
    with pytest.raises(ValidationError) as caught:
        Credential.model_validate({"username": "acme", "password_file": "x", "password": plain})

    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
