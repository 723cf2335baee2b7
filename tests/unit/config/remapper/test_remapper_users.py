"""SASL in the file of a partition remapper: its forms of users, environment variables, and what is said of mistakes."""

from base64 import b64encode
from pathlib import Path

import pytest

from bifrost.config.errors import ConfigError
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.config.files.watched_files import files_of
from bifrost.config.model import Config
from bifrost.config.remapper.remapper_users import MAX_PASSWORD_BYTES, MAX_USERS_BYTES
from support.journal.loading import load

LEAST = """\
listen:
  security:
    protocol: SASL_PLAINTEXT
    sasl: { enabled_mechanisms: [PLAIN, SCRAM-SHA-256], credentials: CREDENTIALS }
kafka: { bootstrap_servers: ["a:9092"] }
mapping: { virtual_partitions: 100, physical_partitions: 10 }
"""
ACCOUNT = """\
listen: {}
kafka:
  bootstrap_servers: ["a:9092"]
  security_protocol: SASL_PLAINTEXT
  sasl: SASL
mapping: { virtual_partitions: 100, physical_partitions: 10 }
"""
SALT = b"0123456789abcdef"
VERIFIER = ScramVerifier.derive(Mechanism.SCRAM_SHA_512, b"hunter2", SALT, 8192)
PLACE = "listen.security.sasl.credentials"


def encoded(value: bytes) -> str:
    return b64encode(value).decode()


KEYS = (
    f'{{ salt: "{encoded(SALT)}", iterations: 8192, stored_key: "{encoded(VERIFIER.stored_key)}", '
    f'server_key: "{encoded(VERIFIER.server_key)}" }}'
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("remap.yaml")


def with_users(file: Path, credentials: str) -> Config:
    file.write_text(LEAST.replace("CREDENTIALS", credentials))
    return load(file)


def with_account(file: Path, sasl: str) -> Config:
    file.write_text(ACCOUNT.replace("sasl: SASL", f"sasl: {sasl}"))
    return load(file)


def mistakes(file: Path, credentials: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        with_users(file, credentials)
    return str(caught.value).splitlines()


def passwords(config: Config, *candidates: str) -> dict[str, str]:
    """For each user the password that is its own."""
    [tenant] = config.tenants
    return {
        one.username: next(
            text for text in candidates if one.password and one.password.matches(text.encode())
        )
        for one in tenant.auth.credentials
    }


@pytest.mark.parametrize(
    "credentials",
    [
        '{ users: { alice: "hunter2", bob: "hunter3" } }',
        '{ users: { alice: { password: "hunter2" }, bob: { password: "hunter3", iterations: 4096 } } }',
        '{ users: [{ username: alice, password: "hunter2" }, { username: bob, password: "hunter3" }] }',
    ],
)
def test_users_stand_in_the_file_in_each_of_its_forms(file: Path, credentials: str) -> None:
    config = with_users(file, credentials)

    assert passwords(config, "hunter2", "hunter3") == {"alice": "hunter2", "bob": "hunter3"}
    [listener], [tenant] = config.proxy.listener_sets, config.tenants
    assert (listener.tenant, list(listener.sasl_mechanisms)) == (None, ["PLAIN", "SCRAM-SHA-256"])
    for one in tenant.auth.credentials:
        assert [verifier.mechanism for verifier in one.verifiers] == [Mechanism.SCRAM_SHA_256]


@pytest.mark.parametrize(
    "content",
    [
        "# users\n\nalice:hunter2\n  bob:hunt:er3  \n",
        "users:\n  alice: hunter2\n  bob: { password: 'hunt:er3' }\n",
        "# users\nusers: [{ username: alice, password: hunter2 }, { username: bob, password: 'hunt:er3' }]\n",
    ],
)
def test_users_stand_in_a_file_of_their_own_which_is_watched(file: Path, content: str) -> None:
    Path("users").write_text(content)

    config = with_users(file, "{ file: users }")

    assert passwords(config, "hunter2", "hunt:er3") == {"alice": "hunter2", "bob": "hunt:er3"}
    assert "users" in set(files_of(config))


def test_a_user_has_keys_in_place_of_a_password(file: Path) -> None:
    credentials = f"{{ users: {{ alice: {KEYS} }} }}"
    file.write_text(LEAST.replace("CREDENTIALS", credentials).replace("SCRAM-SHA-256", "SCRAM-SHA-512"))

    [one] = load(file).tenants[0].auth.credentials

    assert (one.password, one.verifiers) == (None, (VERIFIER,))


def test_environment_variables_are_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRST", "hunter2")
    monkeypatch.setenv("_2", "b")

    config = with_users(file, '{ users: { alice: "${FIRST}", bob: "a${_2}c$", carol: "$FIRST ${}" } }')
    account = with_account(file, '{ mechanism: SCRAM-SHA-256, username: "g-${_2}", password: "${FIRST}" }')

    texts = ("hunter2", "abc$", "$FIRST ${}")
    assert list(passwords(config, *texts).values()) == list(texts)
    [upstream] = account.clusters
    assert upstream.sasl is not None
    assert upstream.sasl.password is not None
    assert (upstream.sasl.mechanism, upstream.sasl.username) == ("SCRAM-SHA-256", "g-b")
    assert upstream.sasl.password.reveal() == b"hunter2"


def test_a_password_in_the_file_is_warned_of_and_never_shown(file: Path) -> None:
    config = with_users(file, '{ users: { alice: "hunter2" } }')
    account = with_account(file, "{ username: gateway, password: hunter2 }")

    for one, place in ((config, f"{PLACE}.users"), (account, "kafka.sasl.password")):
        assert one.process is not None
        [notice] = [text for text in one.process.notices if f": {place}: " in text]
        assert "stands in this file" in notice
        assert "hunter2" not in repr(one) + str(one.process.notices) + one.model_dump_json()


def test_a_password_from_elsewhere_is_not_warned_of(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRST", "hunter2")
    Path("users").write_text("alice:hunter2")

    for config in (
        with_users(file, '{ users: { alice: "${FIRST}" } }'),
        with_users(file, "{ file: users }"),
        with_account(file, '{ username: gateway, password: "${FIRST}" }'),
    ):
        assert config.process is not None
        assert not [text for text in config.process.notices if "stands in this file" in text]


LONG = "x" * (MAX_PASSWORD_BYTES + 1)


@pytest.mark.parametrize(
    ("credentials", "told"),
    [
        ("{}", f"{PLACE}: has no users: add users, or file"),
        ('{ users: { alice: "hunter2" }, file: users }', f"{PLACE}: has both users and file: remove one"),
        ("{ users: {} }", f"{PLACE}.users: is empty"),
        ("{ users: 5 }", f"{PLACE}.users: expected a list"),
        ("{ users: { alice: 5 } }", f"{PLACE}.users[0].password: expected a text"),
        ("{ users: { alice: {} } }", f"{PLACE}.users[0]: needs password, or salt, stored_key and server_key"),
        ('{ users: { alice: " " } }', f"{PLACE}.users[0]: the password is empty"),
        (
            f'{{ users: {{ alice: "{LONG}" }} }}',
            f"{PLACE}.users[0]: the password has a NUL byte, or more than",
        ),
        (
            '{ users: { alice: "hunter2\\0" } }',
            f"{PLACE}.users[0]: the password has a NUL byte, or more than",
        ),
        (
            '{ users: { alice: "${NO_SUCH}" } }',
            f"{PLACE}.users[0]: the environment variable NO_SUCH is not set",
        ),
        (
            '{ users: { alice: { password: hunter2, salt: "aaaa" } } }',
            f"{PLACE}.users[0]: has both a password and keys: remove one",
        ),
        (
            '{ users: { alice: { salt: "hunter2", stored_key: "hunter2", server_key: "hunter2" } } }',
            f"{PLACE}.users[0]: salt is not base64",
        ),
        (
            f"{{ users: {{ alice: {KEYS.replace('8192', '1000000')} }} }}",
            f"{PLACE}.users[0].iterations: must be at most 16384",
        ),
        (
            "{ users: { alice: { pasword: hunter2 } } }",
            f"{PLACE}.users[0].pasword: unknown key; did you mean password?",
        ),
        ("{ users: { alice: { hunter2: x } } }", f"{PLACE}.users[0]: unknown key; known here: iterations, "),
        ("{ file: none }", f"{PLACE}.file: file of users none: no such file"),
        ("{ file: lines }", f"{PLACE}.file: file of users lines: line 2: expected name:password"),
        ("{ file: nameless }", f"{PLACE}.file: file of users nameless: line 1: username is not valid"),
        ("{ file: empty }", f"{PLACE}.file: file of users empty: has no user"),
        ("{ file: other }", f"{PLACE}.file: file of users other: expected users alone"),
        ("{ file: broken }", f"{PLACE}.file: file of users broken: line 2: "),
        ("{ file: wrong }", f"{PLACE}.file: file of users wrong: users[0].password: expected a text"),
        ("{ file: unset }", f"{PLACE}.file: file of users unset: users[0]: the environment variable NO_SUCH"),
        ("{ file: binary }", f"{PLACE}.file: file of users binary: not UTF-8"),
        ("{ file: large }", f"{PLACE}.file: file of users large: larger than {MAX_USERS_BYTES} bytes"),
    ],
)
def test_a_mistake_is_told_without_a_secret(file: Path, credentials: str, told: str) -> None:
    for name, content in {
        "lines": b"alice:hunter2\nhunter2\n",
        "nameless": b":hunter2\n",
        "empty": b"# hunter2\n\n",
        "other": b"users: {}\npasswords: [hunter2]\n",
        "broken": b"users:\n  alice: [hunter2\n",
        "wrong": b"users:\n  alice: [hunter2]\n",
        "unset": b"users:\n  alice: ${NO_SUCH}\n",
        "binary": b"alice:hunter2\xff\n",
        "large": b"#" * (MAX_USERS_BYTES + 1),
    }.items():
        Path(name).write_bytes(content)

    [found] = mistakes(file, credentials)

    place, _, message = found.partition(": ")
    assert place in ("remap.yaml:4",)
    assert message.startswith(told)
    assert "hunter2" not in found


def test_two_users_of_one_name_are_refused_in_the_words_of_the_file(file: Path) -> None:
    Path("users").write_text("alice:hunter2\nalice:hunter3\n")

    [found] = mistakes(file, "{ file: users }")

    assert found.startswith("remap.yaml:4: username alice is given twice")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("SASL_PLAINTEXT", "PLAINTEXT", "listen.security.sasl is only for SASL_PLAINTEXT and SASL_SSL"),
        ("SASL_PLAINTEXT", "SASL_SSL", "listen.security.tls is missing: SASL_SSL needs a certificate"),
        ("[PLAIN, SCRAM-SHA-256]", "[]", "listen.security.sasl.enabled_mechanisms: is empty"),
        ("PLAIN, S", "OAUTHBEARER, S", "listen.security.sasl.enabled_mechanisms[0]: expected PLAIN, "),
    ],
)
def test_protocols_and_mechanisms_go_with_what_they_need(file: Path, old: str, new: str, told: str) -> None:
    file.write_text(LEAST.replace("CREDENTIALS", '{ users: { alice: "hunter2" } }').replace(old, new, 1))

    with pytest.raises(ConfigError) as caught:
        load(file)

    [line] = str(caught.value).splitlines()
    assert line.partition(": ")[2].startswith(told)


def test_what_is_wrong_with_an_account_is_told_at_once(file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        with_account(file, '{ username: "${NO_SUCH}", password: "${NO_OTHER}" }')

    assert str(caught.value).splitlines() == [
        "remap.yaml:5: kafka.sasl.username: the environment variable NO_SUCH is not set",
        "remap.yaml:5: kafka.sasl.password: the environment variable NO_OTHER is not set",
    ]
