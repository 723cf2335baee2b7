from pathlib import Path

import pytest

from bifrost.cli.admin.api_client import ApiClient, CannotAsk, Refused


@pytest.fixture(autouse=True)
def _without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "TOKEN_FILE", "CA_FILE", "CERTIFICATE_FILE"):
        monkeypatch.delenv(f"BIFROST_CONTROL_{name}", raising=False)


@pytest.mark.parametrize(
    "url", ["control:9405", "ftp://control", "https://", "https://x:port", "https://x?y=1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(CannotAsk):
        ApiClient(url)


def test_a_token_is_not_sent_readable_to_another_machine(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t" * 40)

    with pytest.raises(
        CannotAsk, match="http://control:9405 is not encrypted, and the token would be readable"
    ):
        ApiClient("http://control:9405", tmp_path / "token")
    for url in ("http://127.0.0.1:9405", "http://[::1]:9405", "https://control:9405"):
        ApiClient(url, tmp_path / "token")


@pytest.mark.parametrize("content", [None, b"", b" \n", b"two words", b"\xff", b"x" * 5000])
def test_a_file_without_a_token_is_named_without_its_content(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)

    with pytest.raises(CannotAsk, match="file of the token ") as caught:
        ApiClient(None, tmp_path / "token")

    assert "two words" not in str(caught.value)


def test_files_that_tls_cannot_use_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("x")

    with pytest.raises(CannotAsk, match="file of the CAs"):
        ApiClient("https://control:9405", None, tmp_path / "x.pem")
    with pytest.raises(CannotAsk, match="file of the certificate"):
        ApiClient("https://control:9405", None, None, tmp_path / "absent.pem")


def test_the_environment_says_where_and_who(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIFROST_CONTROL_URL", "nowhere")

    with pytest.raises(CannotAsk, match="'nowhere' is no address: write https://HOST:PORT"):
        ApiClient()
    ApiClient("http://127.0.0.1:9405")
    monkeypatch.setenv("BIFROST_CONTROL_TOKEN_FILE", str(tmp_path / "absent"))
    with pytest.raises(CannotAsk, match="file of the token"):
        ApiClient("http://127.0.0.1:9405")


def test_a_refusal_is_told_with_its_remedy() -> None:
    assert str(Refused(409, {"detail": "a exists", "remedy": "delete it"})) == "a exists; delete it"
    assert str(Refused(502, {})) == "HTTP status 502"
