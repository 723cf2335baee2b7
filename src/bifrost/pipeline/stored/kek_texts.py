"""KEKs on the command line of a job: what stands behind `config:` of an EnvelopeEncryption filter, or a short form.

    {kms_provider: Vault, key_id: payments, vault: {address: "https://vault:8200", token_file: /run/token}}
    @kek.yaml                                    the same in a file
    vault:https://vault:8200#transit/payments    short; so are file:PATH#NAME and aws-kms:REGION#KEY

Executors read key files and tokens by these paths, and ask services by themselves: no secret goes to them with a task.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from bifrost.config.records.encryption_config import EnvelopeEncryptionConfig, check_encryption
from bifrost.encryption.kek import Kek
from bifrost.pipeline.errors import PipelineError
from bifrost.transforms.encryption.envelope_encryption import kek_of

_FORMS = "file:PATH#NAME, vault:URL#MOUNT/NAME or aws-kms:REGION#KEY"
KEYS = frozenset(
    {"kms_provider", "key_id", "also_opens", "cache_expiry_seconds", "vault", "aws_kms", "key_file"}
)
"""The keys of a filter that are about its KEK."""


@dataclass(frozen=True, slots=True)
class KmsAccess:
    """How a job reaches the services of its KEKs; what is empty is as the KEK's own text says."""

    token_file: str = ""
    """Of Vault, a path on every executor."""
    ca_file: str = ""
    """Of Vault, likewise."""
    namespace: str = ""
    """Of Vault Enterprise."""
    endpoint_url: str = ""
    """Of AWS KMS."""

    def on(self, kek: Kek) -> Kek:
        """Return a KEK that is reached so."""
        if kek.provider == "vault":
            return kek._replace(
                token_file=self.token_file or kek.token_file,
                ca_file=self.ca_file or kek.ca_file,
                namespace=self.namespace or kek.namespace,
            )
        if kek.provider == "aws-kms" and self.endpoint_url:
            return kek._replace(address=self.endpoint_url)
        return kek


def read_kek(text: str, access: KmsAccess = KmsAccess()) -> Kek:
    """Return the KEK that a text names.

    Args:
        text: as above.
        access: how its service is reached.
    Raises:
        PipelineError: the text has another form, or something is missing.
    """
    if text.startswith(("{", "@")):
        return access.on(_of_filter(text))
    provider, _, rest = text.partition(":")
    where, _, key = rest.rpartition("#")
    if provider not in ("file", "vault", "aws-kms") or not where or not key:
        raise PipelineError(f"{text!r} names no KEK: write {{kms_provider: ..., key_id: ...}}, or {_FORMS}")
    if provider == "file":
        return Kek(provider, key, key_file=where)
    if provider == "aws-kms":
        return access.on(Kek(provider, key, region=where))
    mount, _, name = key.rpartition("/")
    if not mount or not name or not where.startswith(("http://", "https://")):
        raise PipelineError(f"{text!r} names no KEK of Vault: write vault:URL#MOUNT/NAME")
    if not access.token_file:
        raise PipelineError("a KEK of Vault needs --vault-token-file")
    return access.on(Kek(provider, name, address=where, mount=mount))


def _of_filter(text: str) -> Kek:
    shown = text[:80]
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise PipelineError(f"{shown[1:]}: {reason}") from None
    try:
        found: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict):
        raise PipelineError(f"{shown!r} names no KEK: write {{kms_provider: ..., key_id: ...}}")
    foreign = sorted(str(one) for one in found.keys() - KEYS)
    if foreign:
        raise PipelineError(
            f"{shown!r}: {foreign[0]} is not about a KEK: there are {', '.join(sorted(KEYS))}"
        )
    try:
        config = EnvelopeEncryptionConfig.model_validate(found)
        check_encryption(config)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise PipelineError(f"{shown!r}: {place}: {first['msg']}") from None
    except ValueError as error:
        raise PipelineError(f"{shown!r}: {error}") from None
    return kek_of(config)
