import copy
import pickle

import pytest
from pydantic import TypeAdapter, ValidationError

from bifrost.config.kept_secret import KeptSecret
from bifrost.config.secrets import Secret


def test_it_gives_its_value_when_asked_and_never_shows_it() -> None:
    secret = KeptSecret(b"wile-e")

    assert secret.reveal() == b"wile-e"
    assert secret.matches(b"wile-e")
    assert {repr(secret), str(secret), f"{secret:>3}", "%s" % secret} == {"Secret(***)"}  # noqa: UP031
    assert copy.deepcopy(secret) is secret
    assert (secret == KeptSecret(b"wile-e"), secret == KeptSecret(b"coyote")) == (True, False)
    assert hash(secret) == hash(KeptSecret(b"wile-e"))


def test_it_neither_changes_nor_leaves_the_process() -> None:
    secret = KeptSecret(b"wile-e")

    with pytest.raises(AttributeError):
        secret._value = b"coyote"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_a_model_takes_no_other_and_dumps_it_masked() -> None:
    adapter = TypeAdapter(KeptSecret)

    assert adapter.dump_json(KeptSecret(b"wile-e")) == b'"Secret(***)"'
    for other in ("wile-e", Secret(b"wile-e")):
        with pytest.raises(ValidationError):
            adapter.validate_python(other)
