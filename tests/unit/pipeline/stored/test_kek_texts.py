from pathlib import Path

import pytest

from bifrost.encryption.kek import Kek
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.kek_texts import KmsAccess, read_kek

VAULT = 'vault: {address: "https://vault:8200", token_file: theirs}'


def test_a_kek_is_written_as_a_filter_has_it(tmp_path: Path) -> None:
    file = tmp_path / "kek.yaml"
    file.write_text("kms_provider: AwsKms\nkey_id: alias/pay\naws_kms: { region: eu-central-1 }\n")

    assert read_kek("{kms_provider: KeyFile, key_id: pay, key_file: /keks, also_opens: [old]}") == Kek(
        "file", "pay", ("old",), key_file="/keks"
    )
    assert read_kek(f"@{file}") == Kek("aws-kms", "alias/pay", region="eu-central-1")


def test_the_job_s_own_credentials_come_before_those_of_the_text() -> None:
    text = f"{{kms_provider: Vault, key_id: pay, {VAULT}}}"
    vault = Kek("vault", "pay", address="https://vault:8200", token_file="theirs")

    assert read_kek(text) == vault
    access = KmsAccess("ours", "ca", "team", "http://localhost:1")
    assert read_kek(text, access) == vault._replace(token_file="ours", ca_file="ca", namespace="team")
    assert read_kek("aws-kms:eu#k", access) == Kek("aws-kms", "k", region="eu", address="http://localhost:1")
    assert read_kek("file:/keks#k", access) == Kek("file", "k", key_file="/keks")


def test_the_short_form_is_the_same_kek() -> None:
    access = KmsAccess(token_file="theirs")

    assert read_kek("vault:https://vault:8200#a/transit/pay", access) == Kek(
        "vault", "pay", address="https://vault:8200", mount="a/transit", token_file="theirs"
    )
    assert read_kek("file:/a#b#pay") == read_kek('{kms_provider: KeyFile, key_id: pay, key_file: "/a#b"}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("payments", "names no KEK"),
        ("file:/keks", "names no KEK"),
        ("gcp:eu#a", "names no KEK"),
        ("vault:https://v#transit/a", "needs --vault-token-file"),
        ("vault:v#pay", "MOUNT/NAME"),
        ("{", "names no KEK"),
        ("{kms_provider: Vault}", "needs config.kms_provider and config.key_id"),
        ("{kms_provider: KeyFile, key_id: a}", "needs config.key_file"),
        ("{kms_provider: Gcp, key_id: a}", "kms_provider: Input should be"),
        ("{kms_provider: Vault, key_id: a, mode: values}", "mode is not about a KEK"),
        ("@nowhere", "nowhere: No such file"),
    ],
)
def test_what_is_no_kek_is_one_line(text: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said) as caught:
        read_kek(text)
    assert "\n" not in str(caught.value)
