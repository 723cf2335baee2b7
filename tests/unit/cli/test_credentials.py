import os
import pty
import select
import subprocess
import sys
import time

import pytest

from bifrost.cli.credentials import DEFAULT_ITERATIONS
from bifrost.config.fields.verifiers import MAX_ITERATIONS, MIN_ITERATIONS, Mechanism, read_verifiers

SHA_256, SHA_512 = Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512
COMMAND = [sys.executable, "-m", "bifrost.cli.main", "credentials", "--username", "acme"]


def run(*options: str, password: bytes = b"hunter2\n") -> tuple[int, str, str]:
    """The status, standard output and standard error of the real command, with the password on standard input."""
    done = subprocess.run([*COMMAND, *options], input=password, capture_output=True, timeout=30, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_lines_are_those_of_a_scram_file() -> None:
    status, output, errors = run()

    assert (status, errors) == (0, "")
    assert output.splitlines()[0] == "# acme"
    verifiers = read_verifiers(output)
    assert [(one.mechanism, one.iterations) for one in verifiers] == [
        (SHA_256, DEFAULT_ITERATIONS),
        (SHA_512, DEFAULT_ITERATIONS),
    ]
    assert all(one.matches(b"hunter2") for one in verifiers)
    assert "hunter2" not in output


@pytest.mark.parametrize("iterations", [MIN_ITERATIONS, MAX_ITERATIONS])
def test_mechanism_and_iterations_are_chosen(iterations: int) -> None:
    status, output, _ = run("--mechanism", "SCRAM-SHA-512", "--iterations", str(iterations))

    [verifier] = read_verifiers(output)
    assert (status, verifier.mechanism, verifier.iterations) == (0, SHA_512, iterations)
    assert verifier.matches(b"hunter2")


def test_no_two_salts_are_the_same() -> None:
    lines = [line for _ in range(2) for line in run("--iterations", "4096")[1].splitlines()[1:]]

    assert len({verifier.salt for line in lines for verifier in read_verifiers(line)}) == 4


@pytest.mark.parametrize("password", [b"p\xc3\xa4ss", b" p ", b"x" * 4096, b"p\r\n"])
def test_a_password_is_taken_as_it_is_without_its_line_break(password: bytes) -> None:
    _, output, _ = run("--mechanism", "SCRAM-SHA-256", "--iterations", "4096", password=password)

    [verifier] = read_verifiers(output)
    assert verifier.matches(password.removesuffix(b"\r\n"))


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        (b"", "error: no password was given: write it to standard input, or run this at a terminal\n"),
        (b"\n", "error: no password was given: write it to standard input, or run this at a terminal\n"),
        (b"hunter2\0", "error: the password has a NUL byte or a line break in it\n"),
        (b"hunter2\nmore\n", "error: the password has a NUL byte or a line break in it\n"),
        (b"hunter2" * 600, "error: the password is larger than 4096 bytes\n"),
    ],
)
def test_what_is_no_password_is_refused_without_a_line(password: bytes, expected: str) -> None:
    assert run(password=password) == (1, "", expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--iterations", "4095"), "greater than or equal to 4096"),
        (("--iterations", "16385"), "less than or equal to 16384"),
        (("--mechanism", "PLAIN"), "'PLAIN' is not one of"),
        (("--password", "hunter2"), "No such option"),
        (("--username", ""), "write 1 or more printable characters"),
        (("--username", "a\nSCRAM"), "write 1 or more printable characters"),
    ],
)
def test_a_wrong_option_is_a_usage_error(options: tuple[str, ...], expected: str) -> None:
    status, output, errors = run(*options)

    assert (status, output) == (2, "")
    assert expected in errors


def at_a_terminal(*answers: str) -> tuple[int, str]:
    """The status of the command at a terminal, and all that stands on it afterwards."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*COMMAND, "--iterations", "4096"])  # the child is the command
    shown = b""
    prompts = [b"Password of acme: ", b"Once more: "]
    deadline = time.monotonic() + 30
    remaining = [*zip(prompts, answers, strict=False)]
    while time.monotonic() < deadline:
        if remaining and shown.endswith(remaining[0][0]):
            os.write(terminal, remaining.pop(0)[1].encode() + b"\n")
        if not select.select([terminal], [], [], 0.05)[0]:
            continue
        try:
            part = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        shown += part
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_at_a_terminal_the_password_is_asked_for_and_not_shown() -> None:
    status, shown = at_a_terminal("hunter2", "hunter2")

    assert status == 0
    assert "hunter2" not in shown
    verifiers = read_verifiers(shown[shown.index("# acme") :])
    assert [one.matches(b"hunter2") for one in verifiers] == [True, True]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_at_a_terminal_a_slip_is_noticed() -> None:
    status, shown = at_a_terminal("hunter2", "hunter3")

    assert status == 1
    assert "error: the two passwords differ" in shown
    assert "stored_key" not in shown
