import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from typer.testing import CliRunner

from bifrost.cli.commands import app
from bifrost.cli.pipeline import FOUND, UNPROVEN
from bifrost.pipeline.certificates.certificate import sign

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def public_key(tmp_path: Path) -> Path:
    path = tmp_path / "certify.pub"
    path.write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return path


def test_the_jobs_are_named() -> None:
    result = CliRunner().invoke(app, ["pipeline", "--help"])

    assert result.exit_code == 0
    for job in ("meter", "bill", "certify", "verify", "advise", "jars"):
        assert job in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["meter", "--tables", "t"], "name the brokers"),
        (["meter", "--tables", "t", "--files", "f", "--kafka-config", "none"], "No such file"),
        (["bill", "--tables", "t", "--price-book", "p", "--month", "May", "--out", "o"], "no month"),
        (["certify", "--tables", "t", "--key", "k", "--out", "o", "--day", "today"], "Invalid"),
        (["certify", "--tables", "t", "--key", "k", "--out", "o", "--prefix", "acme"], "TENANT=PREFIX"),
        (["certify", "--tables", "t", "--key", "k", "--out", "o", "--name-template", "x"], "name template"),
        (["advise", "--tables", "t", "--out", "o", "--without", "Fetch"], "API=VERSION"),
        (
            ["bill", "--tables", "t", "--price-book", "none", "--month", "2026-10", "--out", "o"],
            "cannot be read",
        ),
    ],
)
def test_what_is_wrong_with_the_command_line_is_said_before_spark_starts(
    arguments: list[str], said: str
) -> None:
    result = CliRunner().invoke(app, ["pipeline", *arguments])

    assert result.exit_code == 2
    assert said in result.output


def test_a_password_in_the_properties_is_never_shown(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("# of the client\nhunter2\n")

    result = CliRunner().invoke(
        app, ["pipeline", "meter", "--tables", "t", "--files", "f", "--kafka-config", str(config)]
    )

    assert result.exit_code == 2
    assert "line 2" in result.output
    assert "hunter2" not in result.output


def test_without_pyspark_a_job_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)

    result = CliRunner().invoke(app, ["pipeline", "meter", "--tables", "t", "--files", "f"])

    assert result.exit_code == 1
    assert (
        result.stderr == "error: PySpark is not installed: pip install '.[pipeline]' in a clone of Bifrost\n"
    )


def test_certificates_are_verified_without_spark(
    tmp_path: Path, public_key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(sign({"tenant": "acme", "day": "2026-10-05", "verdict": "isolated"}, KEY))
    bad.write_text(good.read_text().replace("isolated", "unknown"))

    fine = CliRunner().invoke(app, ["pipeline", "verify", "--public-key", str(public_key), str(good)])
    spoiled = CliRunner().invoke(
        app, ["pipeline", "verify", "--public-key", str(public_key), str(bad), str(good)]
    )

    assert (fine.exit_code, fine.stdout) == (0, f"{good}: acme on 2026-10-05: isolated\n")
    assert spoiled.exit_code == 3
    assert "changed since" in spoiled.stderr
    assert "isolated" in spoiled.stdout


@pytest.mark.parametrize(
    ("exceptions", "incomplete", "status"), [(0, 0, 0), (0, 1, UNPROVEN), (2, 0, FOUND), (2, 1, FOUND)]
)
def test_a_verdict_without_proof_has_a_status_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exceptions: int, incomplete: int, status: int
) -> None:
    key = tmp_path / "certify.key"
    key.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    done = SimpleNamespace(certificates=3, exceptions=exceptions, incomplete=incomplete)
    job = SimpleNamespace(run_certify=lambda *_: done, CertifyOptions=lambda *_: None)
    monkeypatch.setitem(sys.modules, "bifrost.pipeline.jobs.certify", job)
    monkeypatch.setattr("bifrost.cli.jobs.job_runs.check_pyspark", lambda: None)
    monkeypatch.setattr(
        "bifrost.cli.jobs.job_runs.build_session", lambda *_: SimpleNamespace(stop=lambda: None)
    )

    result = CliRunner().invoke(
        app, ["pipeline", "certify", "--tables", "t", "--key", str(key), "--out", "o"]
    )

    assert (result.exit_code, len({0, 1, 2, FOUND, UNPROVEN})) == (status, 5)
    assert result.stdout == f"3 certificates, {exceptions} exceptions, {incomplete} incomplete: o\n"


def test_the_gateway_s_command_imports_nothing_of_spark() -> None:
    spark = "any(name.startswith(('pyspark', 'bifrost.pipeline')) for name in sys.modules)"
    code = f"import sys, bifrost.cli.main; sys.exit({spark})"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
