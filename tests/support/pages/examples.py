"""The examples, with the files that they name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from unittest.mock import patch

from bifrost.config.fields.verifiers import SCRAM_HASHES, ScramVerifier
from bifrost.config.model import Config
from support.identity.certificates import Authority
from support.journal.loading import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

CONTENTS = {
    "ca_cert_path": "-----BEGIN CERTIFICATE-----",
    "ca_file": "-----BEGIN CERTIFICATE-----",
    "certificate_file": "-----BEGIN CERTIFICATE-----",
    "key_file": "-----BEGIN PRIVATE KEY-----",
    "sealing_key_file": "v1 0123456789abcdef AAAA",
    "keytab_file": "\x05",
    "password_file": "x",
    "client_secret_file": "x",
    "token_file": "x" * 32,
    "hash_key_file": "x" * 32,
    " file": "app:x",
    "transform_file": "def transform(batch, context):\n    return batch\n",
}
"""What is written into each kind of file, by the end of its key."""


def load_example(name: str, folder: Path) -> Config:
    """Load an example with a password in every file and environment variable it names, and a certificate."""
    text = (EXAMPLES / name).read_text().replace("/run/secrets/globex", "secrets/globex")
    (folder / "secrets").mkdir()
    for end, content in CONTENTS.items():
        for file in re.findall(rf'{end}: "(.*?)"', text):
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(content)
    for scram_file in re.findall(r'scram_file: "(.*?)"', text):
        lines = [ScramVerifier.derive(one, b"x", bytes(16), 4096).to_line() for one in SCRAM_HASHES]
        (folder / scram_file).write_text("\n".join(lines))
    authority = Authority("CA")
    password = "x" if "key_password_file" in text else None
    authority.server("gateway.example.com").write(folder / "tls", "gateway", password=password)
    authority.write(folder / "tls/client-ca.pem")
    (folder / "tls/client-ca.crl").write_bytes(authority.revocations())
    file = folder / Path(name).name
    file.write_text(text)
    with patch.dict(os.environ, dict.fromkeys(re.findall(r"\$\{(\w+)\}", text), "x")):
        return load(file)
