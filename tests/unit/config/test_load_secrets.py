"""What the loader makes of the files beside the configuration: passwords, SCRAM verifiers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bifrost.config.fields.tenants import Credential
from bifrost.config.fields.verifiers import MIN_ITERATIONS, Mechanism, ScramVerifier
from support.journal.loading import load

from .conftest import PROXY_YAML

Problems = Callable[..., list[str]]
SHA_256, SHA_512 = Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512
PASSWORD_FILE = 'password_file: "secrets/acme.password"'
SCRAM_FILE = 'scram_file: "secrets/acme.scram"'
AT = "proxy.yaml:17: tenants[0].auth.credentials[0]"
VERIFIER = ScramVerifier.derive(SHA_512, b"wile-e", b"salt of sixteen.", 8192)


def users(folder: Path, *changes: tuple[str, str]) -> list[Credential]:
    """The credentials of the file with these changes."""
    text = PROXY_YAML
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "proxy.yaml").write_text(text)
    return [user for _, user in load("proxy.yaml").credentials()]


def offered(mechanisms: str) -> tuple[str, str]:
    """The change that lets the listener set offer these."""
    return "        broker_id_base: 1\n", f"        broker_id_base: 1\n      sasl_mechanisms: {mechanisms}\n"


def test_a_scram_file_is_read_and_no_password_is_known(folder: Path) -> None:
    (folder / "secrets/acme.scram").write_text(f"# acme\n{VERIFIER.to_line()}\n")

    acme, globex = users(folder, (PASSWORD_FILE, SCRAM_FILE))

    assert (acme.password, acme.verifiers) == (None, (VERIFIER,))
    assert globex.password is not None


def test_a_password_file_allows_every_mechanism(folder: Path) -> None:
    acme, globex = users(folder)

    assert [one.mechanism for one in acme.verifiers] == [SHA_256, SHA_512]
    assert {one.iterations for user in (acme, globex) for one in user.verifiers} == {MIN_ITERATIONS}
    assert [one.matches(b"wile-e") for one in acme.verifiers] == [True, True]
    assert [one.matches(b"hank-scorpio") for one in globex.verifiers] == [True, True]
    assert len({one.salt for user in (acme, globex) for one in user.verifiers}) == 4


def test_the_same_file_is_the_same_configuration(folder: Path) -> None:
    assert load("proxy.yaml") == load("proxy.yaml")
    before = users(folder)[0].verifiers

    (folder / "secrets/acme.password").write_text("coyote")

    assert users(folder)[0].verifiers != before


def test_another_key_gives_other_salts(folder: Path) -> None:
    one, other = (load("proxy.yaml", key).credentials() for key in (b"one", b"other"))
    salts = [{verifier.salt for _, user in users for verifier in user.verifiers} for users in (one, other)]

    assert [len(each) for each in salts] == [4, 4]
    assert salts[0] & salts[1] == set()


@pytest.mark.parametrize(
    ("mechanisms", "derived"),
    [
        ("[PLAIN]", []),
        ("[SCRAM-SHA-512]", [SHA_512]),
        ("[PLAIN, SCRAM-SHA-256]", [SHA_256]),
        ("[SCRAM-SHA-512, SCRAM-SHA-256, PLAIN]", [SHA_256, SHA_512]),
    ],
)
def test_only_what_is_offered_is_derived(folder: Path, mechanisms: str, derived: list[Mechanism]) -> None:
    acme, _ = users(folder, offered(mechanisms))

    assert [one.mechanism for one in acme.verifiers] == derived


def test_what_one_set_offers_is_enough(folder: Path) -> None:
    second = """    - name: second
      port_range:
        advertised_host: "other.example.com"
        bootstrap_port: 9192
        broker_port_range: { start: 9193, end: 9199 }
upstream:"""

    acme, _ = users(folder, offered("[PLAIN]"), ("upstream:", second))

    assert len(acme.verifiers) == 2


@pytest.mark.parametrize(
    ("mechanisms", "expected"),
    [
        ("[]", "is empty: add one"),
        (
            "[SCRAM-SHA-1]",
            "[0]: expected PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI, found the text 'SCRAM-SHA-1'",
        ),
        ("PLAIN", "expected a list, found the text 'PLAIN'"),
        ("[PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN]", "has 6 entries, at most 5 are allowed"),
        (
            "[[PLAIN]]",
            "[0]: expected PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI, found a list",
        ),
    ],
)
def test_what_is_no_mechanism_is_refused(problems: Problems, mechanisms: str, expected: str) -> None:
    [line] = problems(offered(mechanisms))

    assert line.startswith("proxy.yaml:10: proxy.listener_sets[0].sasl_mechanisms")
    assert expected in line


def test_a_mechanism_that_no_credential_can_use_is_refused(problems: Problems, folder: Path) -> None:
    for user in ("acme", "globex"):
        (folder / f"secrets/{user}.scram").write_text(VERIFIER.to_line())
    salted = (PASSWORD_FILE, SCRAM_FILE), (PASSWORD_FILE.replace("acme", "globex"), SCRAM_FILE)

    assert problems(offered("[PLAIN, SCRAM-SHA-512, SCRAM-SHA-256]"), *salted) == [
        "proxy.yaml:10: proxy.listener_sets[0].sasl_mechanisms[2]: no credential can use SCRAM-SHA-256: "
        "add its line to a scram_file, or remove it here"
    ]


@pytest.mark.parametrize("sets", ["5", "{}", "[5]", "text", "~"])
def test_sets_that_are_none_do_not_stop_the_rest(problems: Problems, sets: str) -> None:
    old = PROXY_YAML[PROXY_YAML.index("  listener_sets:") : PROXY_YAML.index("upstream:")]

    lines = problems((old, f"  listener_sets: {sets}\n"))

    assert "listener_sets" in lines[0]


def test_one_of_the_two_files_is_given(problems: Problems, folder: Path) -> None:
    (folder / "secrets/acme.scram").write_text(VERIFIER.to_line())

    assert problems((f", {PASSWORD_FILE}", "")) == [
        f"{AT}: has no password: add password_file, or scram_file"
    ]
    assert problems((PASSWORD_FILE, f"{PASSWORD_FILE}, {SCRAM_FILE}")) == [
        f"{AT}: has both password_file and scram_file: remove one"
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "has no verifier: write the lines into it that bifrost credentials prints"),
        (b"hunter2\n", "line 1: expected SCRAM-SHA-256 or SCRAM-SHA-512=[salt=..."),
        (b"\n" + VERIFIER.to_line().replace("=8192", "=100").encode(), "line 2: iterations must be a number"),
        (b"hunter\xff2", "not the text that bifrost credentials prints: is it the right file?"),
        (b"#" * 4097, "larger than 4096 bytes: is it the right file?"),
    ],
)
def test_a_scram_file_without_verifiers_is_refused_and_not_repeated(
    problems: Problems, folder: Path, content: bytes, expected: str
) -> None:
    (folder / "secrets/acme.scram").write_bytes(content)

    [line] = problems((PASSWORD_FILE, SCRAM_FILE))

    assert line.startswith(f"{AT}.scram_file: SCRAM file secrets/acme.scram: {expected}")
    assert "hunter" not in line
    assert "salt of" not in line


def test_a_missing_scram_file_names_its_line_and_its_path(problems: Problems) -> None:
    assert problems((PASSWORD_FILE, SCRAM_FILE)) == [
        f"{AT}.scram_file: SCRAM file secrets/acme.scram: no such file; "
        "a relative path starts at the folder of this file"
    ]


@pytest.mark.parametrize("key", ["password", "verifiers"])
def test_what_is_read_from_files_is_no_key(problems: Problems, key: str) -> None:
    [line] = problems((PASSWORD_FILE, f"{PASSWORD_FILE}, {key}: hunter2"))

    assert line.startswith(f"{AT}.{key}: a password never stands in this file")
    assert "hunter2" not in line


PROXY = "proxy:\n"
PSEUDONYM_KEY = 'proxy:\n  pseudonym_key_file: "secrets/pseudonym.key"\n'


def test_the_key_of_pseudonyms_is_read_and_never_shown(folder: Path) -> None:
    (folder / "secrets/pseudonym.key").write_text("0123456789abcdef0123456789abcdef\n")
    (folder / "proxy.yaml").write_text(PROXY_YAML.replace(PROXY, PSEUDONYM_KEY))

    proxy = load("proxy.yaml").proxy

    assert proxy.pseudonym_key is not None
    assert proxy.pseudonym_key.reveal() == b"0123456789abcdef0123456789abcdef"
    assert "0123456789" not in repr(proxy)


def test_a_key_of_pseudonyms_that_could_be_guessed_is_refused(problems: Problems, folder: Path) -> None:
    (folder / "secrets/pseudonym.key").write_text("too short\n")

    (problem,) = problems((PROXY, PSEUDONYM_KEY))

    assert problem.startswith("proxy.yaml:2: proxy.pseudonym_key_file: file of the key ")
    assert problem.endswith("less than 16 bytes: write random ones into it")


def test_a_key_of_pseudonyms_that_is_not_there_is_told_with_its_line(problems: Problems) -> None:
    (problem,) = problems((PROXY, PSEUDONYM_KEY))

    assert problem.startswith("proxy.yaml:2: proxy.pseudonym_key_file: file of the key ")


def test_the_key_itself_does_not_stand_in_the_file(problems: Problems) -> None:
    (problem,) = problems((PROXY, "proxy:\n  pseudonym_key: 0123456789abcdef\n"))

    assert "0123456789abcdef" not in problem
    assert "name that with pseudonym_key_file" in problem
