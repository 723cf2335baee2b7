import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from bifrost.config.errors import ConfigError
from bifrost.config.source_files import MAX_FILE_BYTES
from bifrost.config.values import Address
from support.journal.loading import load

from .conftest import PROXY_YAML, problems_of

Problems = Callable[..., list[str]]
ACME_FILE = '"secrets/acme.password"'


def test_the_file_of_a_user_loads_as_it_stands(folder: Path) -> None:
    config = load(folder / "proxy.yaml")

    [listener_set] = config.proxy.listener_sets
    ports = listener_set.port_range
    assert listener_set.name == "plaintext"
    assert (ports.bind_host, ports.advertised_host) == ("0.0.0.0", "proxy.example.com")
    assert (ports.bootstrap_port, ports.broker_id_base) == (9092, 1)
    assert ports.broker_ports((0, 1, 2, 3, 4)) == {1: 9093, 2: 9094, 3: 9095}
    assert config.clusters[0].bootstrap == tuple(Address(f"kafka-{n}.internal", 9092) for n in (1, 2, 3))
    acme, globex = config.tenants
    assert acme.allowed_topics == ("orders", "billing", "events", "audit.log")
    assert globex.allowed_topics == ("orders", "users")
    assert not acme.allow_topic_deletion
    assert [(tenant.name, user.username) for tenant, user in config.credentials()] == [
        ("acme", "acme"),
        ("globex", "globex"),
    ]


def test_passwords_are_read_beside_the_file_without_their_line_break(folder: Path) -> None:
    (folder / "secrets/globex.password").write_bytes(b" two words \r\n")
    os.chdir("/")

    acme, globex = load(folder / "proxy.yaml").tenants

    assert acme.auth.credentials[0].password.matches(b"wile-e")
    assert not acme.auth.credentials[0].password.matches(b"wile-e\n")
    assert globex.auth.credentials[0].password.matches(b" two words ")


def test_an_absolute_password_file_is_taken_as_it_is(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.write_text("other\n")
    (folder / "proxy.yaml").write_text(PROXY_YAML.replace("secrets/acme.password", str(elsewhere)))

    assert load("proxy.yaml").tenants[0].auth.credentials[0].password.matches(b"other")


def test_a_tenant_without_a_list_has_a_dynamic_namespace(folder: Path) -> None:
    text = PROXY_YAML.replace("    allowed_topics: [orders, users]\n", "    allow_topic_deletion: true\n")
    (folder / "proxy.yaml").write_text(text)

    globex = load("proxy.yaml").tenants[1]

    assert globex.allowed_topics is None
    assert globex.allow_topic_deletion


def test_limits_take_units_and_plain_numbers(folder: Path) -> None:
    limits = "  limits: { max_request_bytes: 1 MiB, authentication_timeout_ms: 2.5s, max_connections: 7 }\n"
    (folder / "proxy.yaml").write_text(PROXY_YAML.replace("upstream:", limits + "upstream:"))

    loaded = load("proxy.yaml").proxy.limits

    assert (loaded.max_request_bytes, loaded.authentication_timeout_ms, loaded.max_connections) == (
        1048576,
        2500,
        7,
    )
    assert loaded.max_unauthenticated_frame_bytes == 524288


def test_an_unknown_key_is_answered_with_the_closest_known_one(problems: Problems) -> None:
    assert problems(("allowed_topics: [orders, users]", "allowedTopic: [orders, users]")) == [
        "proxy.yaml:19: tenants[1].allowedTopic: unknown key; did you mean allowed_topics?"
    ]
    assert problems(("tenants:", "colour: blue\ntenants:")) == [
        "proxy.yaml:12: colour: unknown key; known here: proxy, tenants, upstream, upstreams"
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            ("bootstrap_port: 9092", "bootstrap_port: 9094"),
            "proxy.yaml:8: port 9094 is taken twice, by broker_port_range of plaintext and by bootstrap_port of "
            "plaintext: move one of them (see line 7)",
        ),
        (
            ("start: 9093, end: 9095", "start: 9095, end: 9093"),
            "proxy.yaml:8: the range starts at 9095, after its end 9093: exchange the two",
        ),
    ],
)
def test_a_port_clash_within_a_set_names_the_second_line(
    problems: Problems, change: tuple[str, str], expected: str
) -> None:
    assert problems(change) == [expected]


SECOND_SET = """\
    - name: second
      port_range:
        advertised_host: "other.example.com"
        broker_port_range: { start: 9195, end: 9199 }
        bootstrap_port: 9095
        bind_host: "HOST"
upstream:"""


@pytest.mark.parametrize("host", ["0.0.0.0", "10.1.2.3", "localhost", "gateway.internal"])
def test_a_port_clash_between_sets_on_overlapping_hosts_names_the_second(
    problems: Problems, host: str
) -> None:
    assert problems(("upstream:", SECOND_SET.replace("HOST", host))) == [
        "proxy.yaml:14: port 9095 is taken twice, by bootstrap_port of second and by broker_port_range of "
        "plaintext: move one of them, or set single_address: true, which needs no broker_port_range (see line 8)"
    ]


def test_the_same_port_on_hosts_that_do_not_overlap_is_no_clash(folder: Path) -> None:
    text = PROXY_YAML.replace('bind_host: "0.0.0.0"', "bind_host: 10.0.0.1")
    for host in ("10.0.0.2", "::", "::1"):
        (folder / "proxy.yaml").write_text(text.replace("upstream:", SECOND_SET.replace("HOST", host)))
        assert len(load("proxy.yaml").proxy.listener_sets) == 2


def test_a_missing_password_file_names_its_line_and_its_path(problems: Problems) -> None:
    assert problems((ACME_FILE, '"secrets/acne.password"')) == [
        "proxy.yaml:17: tenants[0].auth.credentials[0].password_file: password file secrets/acne.password: "
        "no such file; a relative path starts at the folder of this file"
    ]
    assert problems((ACME_FILE, "/nowhere/at/all")) == [
        "proxy.yaml:17: tenants[0].auth.credentials[0].password_file: password file /nowhere/at/all: no such file"
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty: write the password into it"),
        (b"\n", "empty: write the password into it"),
        (b"hush\0hush", "holds a NUL byte, which SASL/PLAIN cannot carry: is it the right file?"),
        (b"hush" * 1025, "larger than 4096 bytes: is it the right file?"),
    ],
)
def test_a_password_file_without_a_password_is_refused(
    problems: Problems, folder: Path, content: bytes, expected: str
) -> None:
    (folder / "secrets/acme.password").write_bytes(content)

    [line] = problems()

    prefix = (
        "proxy.yaml:17: tenants[0].auth.credentials[0].password_file: password file secrets/acme.password: "
    )
    assert line.startswith(prefix + expected)
    assert "hush" not in line


def test_a_password_file_that_is_no_file_is_refused(problems: Problems, folder: Path) -> None:
    os.mkfifo(folder / "pipe")

    assert "password file secrets: a directory, not a file" in problems((ACME_FILE, "secrets"))[0]
    assert "password file pipe: not a regular file" in problems((ACME_FILE, "pipe"))[0]
    assert (
        "password file proxy.yaml/x: cannot be read (Not a directory)"
        in problems((ACME_FILE, "proxy.yaml/x"))[0]
    )


def test_an_unreadable_password_file_is_refused(problems: Problems, monkeypatch: pytest.MonkeyPatch) -> None:
    real_open = Path.open

    def guarded(path: Path, mode: str) -> object:
        if path.name == "acme.password":
            raise PermissionError(13, "Permission denied")
        return real_open(path, mode)

    monkeypatch.setattr(Path, "open", guarded)  # the tests may run as root, whom no mode stops

    assert "may not be read by this user: change its owner or mode" in problems()[0]


def test_a_password_in_the_file_is_refused_and_never_repeated(problems: Problems) -> None:
    [line] = problems((f"password_file: {ACME_FILE}", f"password: hunter2, password_file: {ACME_FILE}"))

    assert line == (
        "proxy.yaml:17: tenants[0].auth.credentials[0].password: a password never stands in this file: "
        "write it to a file and name that with password_file"
    )


@pytest.mark.parametrize(
    "credential",
    [
        "hunter2",
        "{ username: acme, hunter2 }",
        "{ username: acme, passwd: hunter2, password_file: secrets/acme.password }",
        "{ username: acme, pass:hunter2, password_file: secrets/acme.password }",
        "{ username: acme, password: *hunter2 }",
        "{ username: acme, password: !hunter2 x }",
        '{ username: "a:hunter2, password_file: secrets/acme.password }',
        "[hunter2, [hunter2, { a: hunter2 }]]",
    ],
)
def test_a_password_gone_astray_is_not_repeated(problems: Problems, credential: str) -> None:
    old = f"{{ username: acme, password_file: {ACME_FILE} }}"

    lines = problems((old, credential))

    assert lines[0].startswith("proxy.yaml:17: ")
    assert "hunter2" not in "".join(lines)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("acme", "acme", "tenant acme is given twice: rename one or merge the two"),
        (
            "a",
            "a_b",
            "tenant names a and a_b overlap: topic b_x of a and topic x of a_b would be one on the broker "
            "(__vt_a_b_x): rename one, e.g. with - in place of . or _",
        ),
        (
            "a.b.c",
            "a_b",
            "tenant names a.b.c and a_b overlap: topic c_x of a_b and topic x of a.b.c would be one on the "
            "broker (__vt_a.b.c_x): rename one, e.g. with - in place of . or _",
        ),
        (
            "a.b",
            "a_b",
            "tenant names a.b and a_b differ only in . and _, and Kafka refuses topics whose names do: rename one",
        ),
    ],
)
def test_tenant_names_that_overlap_are_refused(
    problems: Problems, first: str, second: str, reason: str
) -> None:
    changes = ("name: acme\n", f"name: {first}\n"), ("name: globex", f"name: {second}")

    assert problems(*changes) == [f"proxy.yaml:18: {reason} (see line 13)"]


@pytest.mark.parametrize(("first", "second"), [("a", "a-b"), ("a", "ab"), ("ab", "a"), ("a-b", "a.b")])
def test_tenant_names_that_only_look_alike_are_taken(folder: Path, first: str, second: str) -> None:
    text = PROXY_YAML.replace("name: acme\n", f"name: {first}\n").replace(
        "name: globex\n", f"name: {second}\n"
    )
    (folder / "proxy.yaml").write_text(text)

    assert [tenant.name for tenant in load("proxy.yaml").tenants] == [first, second]


def test_a_tenant_without_any_user_is_refused(problems: Problems) -> None:
    auth = '    auth:\n      credentials:\n        - { username: globex, password_file: "secrets/globex.password" }\n'

    assert problems((auth, "")) == [
        "proxy.yaml:18: tenants[1].auth is missing, and no user belongs to globex: add it, or a listener set of the "
        "tenant's own"
    ]


def test_the_same_user_in_two_tenants_is_refused(problems: Problems) -> None:
    assert problems(("username: globex", "username: acme")) == [
        "proxy.yaml:22: username acme is given twice, and the name decides the tenant: remove or rename "
        "one (see line 17)"
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a b", "'a b' has characters other than a-z, A-Z, 0-9, '.', '_' and '-'"),
        ("ä", "'ä' has characters other than a-z, A-Z, 0-9, '.', '_' and '-'"),
        ('"a\\n"', "'a\\n' has characters other than a-z, A-Z, 0-9, '.', '_' and '-'"),
        ('""', "is empty: write a text"),
        ("a" * 65, "longer than 64 characters: shorten it"),
        ("12", "expected a text: put it in quotes, found the number 12"),
        (
            "no",
            "expected a text: put it in quotes, found the truth value false (YAML reads yes, no, on and off as one)",
        ),
        ("2026-01-01 ", None),
    ],
)
def test_a_tenant_name_has_kafkas_characters_and_leaves_room(
    problems: Problems, folder: Path, name: str, reason: str | None
) -> None:
    if reason is None:
        (folder / "proxy.yaml").write_text(PROXY_YAML.replace("name: acme\n", f"name: {name}\n"))
        assert load("proxy.yaml").tenants[0].name == name.strip()
    else:
        assert problems(("name: acme\n", f"name: {name}\n")) == [f"proxy.yaml:13: tenants[0].name: {reason}"]


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        (
            "[]",
            "tenants[1].allowed_topics: is empty: list the tenant's topics, or leave the key out so that any name "
            "is its own",
        ),
        ("", "tenants[1].allowed_topics has no value: write one, or remove the line"),
        ("~", "tenants[1].allowed_topics has no value: write one, or remove the line"),
        ("orders", "tenants[1].allowed_topics: expected a list, found the text 'orders'"),
        ("[orders, users, orders]", "topic orders is given twice: remove or rename one (see line 19)"),
        ("[..]", "tenants[1].allowed_topics[0]: '..' is no topic name in Kafka"),
        (
            "[a, b/c]",
            "tenants[1].allowed_topics[1]: 'b/c' has characters other than a-z, A-Z, 0-9, '.', '_' and '-'",
        ),
        ("[a, ~]", "tenants[1].allowed_topics[1] has no value: write one, or remove the line"),
        (
            f"[{'x' * 238}]",
            "topic xxxxxxxxxxxxxxxxxxxx... has 238 characters: shorten it to 237, for its name on the broker "
            "begins with __vt_globex_ and may have 249",
        ),
    ],
)
def test_allowed_topics_are_names_that_a_broker_takes(problems: Problems, topics: str, expected: str) -> None:
    assert problems(("[orders, users]", topics)) == [f"proxy.yaml:19: {expected}"]


def test_a_topic_in_a_list_of_lines_is_named_by_its_own_line(problems: Problems) -> None:
    assert problems(("[orders, users]", "\n      - orders\n      - b ad")) == [
        "proxy.yaml:21: tenants[1].allowed_topics[1]: 'b ad' has characters other than a-z, A-Z, 0-9, '.', '_' "
        "and '-'"
    ]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("kafka-1", "'kafka-1' has no port; write host:port, e.g. kafka-1.internal:9092"),
        ("kafka-1:http", "'kafka-1:http' has no port; write host:port, e.g. kafka-1.internal:9092"),
        ("kafka-1:0", "port 0 is not between 1 and 65535; write host:port, e.g. kafka-1.internal:9092"),
        ("SSL://k:9092", "write host:port, e.g. kafka-1.internal:9092, without the protocol before ://"),
        (":9092", "'' is no host name and no IP address"),
        ("::1:9092", "'::1:9092' has more than one colon; write an IPv6 address as [::1]:9092"),
    ],
)
def test_an_upstream_address_is_host_and_port(problems: Problems, address: str, expected: str) -> None:
    assert problems(('"kafka-2.internal:9092"', f'"{address}"')) == [
        f"proxy.yaml:11: upstream.bootstrap[1]: {expected}"
    ]


def test_a_missing_section_is_shown_by_example(problems: Problems) -> None:
    upstream = 'upstream:\n  bootstrap: ["kafka-1.internal:9092", "kafka-2.internal:9092", "kafka-3.internal:9092"]\n'

    assert problems((upstream, "")) == [
        "proxy.yaml:1: upstream is missing: add it, e.g. upstream: { bootstrap: [...] }"
    ]
    assert problems(("        bootstrap_port: 9092\n", "")) == [
        "proxy.yaml:4: proxy.listener_sets[0].port_range.bootstrap_port is missing: add it, e.g. bootstrap_port: 9092"
    ]


def test_everything_wrong_is_reported_at_once_in_the_order_of_the_file(problems: Problems) -> None:
    lines = problems(
        ("proxy.example.com", "0.0.0.0"),
        ("bootstrap_port: 9092", "bootstrap_port: 9093"),
        ("kafka-1.internal:9092", "kafka-1.internal"),
        ("allowed_topics: [orders, billing", "alowed_topics: [orders, billing"),
        (ACME_FILE, "nowhere"),
        ("name: globex", "name: acme"),
        ("username: globex", "username: acme"),
    )

    assert [line.split(" ")[0] for line in lines] == [
        f"proxy.yaml:{number}:" for number in (6, 8, 11, 14, 17, 18, 22)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "proxy.yaml:1: the file is empty: write the sections proxy, upstream and tenants"),
        ("# nothing\n", "proxy.yaml:1: the file is empty: write the sections proxy, upstream and tenants"),
        (
            "\n- a\n",
            "proxy.yaml:2: the file is not a mapping: write the sections proxy, upstream and tenants",
        ),
        ("proxy", "proxy.yaml:1: the file is not a mapping: write the sections proxy, upstream and tenants"),
        (b"proxy: 1\nx: \xff", "proxy.yaml:2: not UTF-8: save the file in that encoding"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(folder: Path, text: str | bytes, expected: str) -> None:
    assert problems_of(folder, text) == [expected]


def test_a_byte_order_mark_and_windows_line_breaks_are_taken(folder: Path) -> None:
    (folder / "proxy.yaml").write_bytes(b"\xef\xbb\xbf" + PROXY_YAML.replace("\n", "\r\n").encode())

    assert load("proxy.yaml").tenants[0].name == "acme"


def test_a_file_that_cannot_be_read_is_one_line(folder: Path) -> None:
    for path, reason in (
        ("nowhere.yaml", "no such file"),
        ("secrets", "a folder without a .yaml or .yml file"),
        ("x" * 300, "cannot be read (File name too long)"),
        ("a\0b", "cannot be read (not a path)"),
    ):
        with pytest.raises(ConfigError) as caught:
            load(path)
        shown = path.replace("\0", "\\x00")
        assert str(caught.value) == f"{shown}: {reason}"


def test_a_file_beyond_the_limit_is_not_parsed(folder: Path) -> None:
    (folder / "proxy.yaml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))

    with pytest.raises(ConfigError, match=r"^proxy.yaml: larger than 1048576 bytes: is it the right file"):
        load("proxy.yaml")


def test_loading_opens_no_socket(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert load("proxy.yaml").upstream.bootstrap[0].host == "kafka-1.internal"
