"""Makes the providers of the KEKs that a rule names: the one that wraps, and those that wrapped before."""

import os
from pathlib import Path

from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.encryption.kek import Kek
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.keys.kek_provider import KekProvider

VAULT_ADDRESS = "https://127.0.0.1:8200"
"""That of Vault's own client, if `VAULT_ADDR` is not set."""
VAULT_TOKEN_FILE = "~/.vault-token"  # noqa: S105 - a path


class KekProviders:
    """The providers of one rule's KEKs."""

    def __init__(self, kek: Kek) -> None:
        """Make them; nothing is asked yet, but a key file is read.

        Raises:
            KekUnavailable, UnknownKek: a KEK cannot be used.
        """
        self.writing = _provider(kek, kek.key_id)
        self._others = (
            () if kek.provider == "aws-kms" else tuple(_provider(kek, one) for one in kek.also_opens)
        )

    def opening(self, header: bytes) -> KekProvider:
        """Return the provider that is to unwrap the DEK of an envelope: an envelope names one, and chooses none.

        Raises:
            BrokenSeal: the header is none.
        """
        named = read_wrapped_dek(header).kek
        return next((one for one in self._others if one.name == named), self.writing)

    def close(self) -> None:
        """Close their connections."""
        for one in (self.writing, *self._others):
            one.close()


def _provider(kek: Kek, key_id: str) -> KekProvider:
    try:
        if kek.provider == "vault":
            return _vault(kek, key_id)
        if kek.provider == "aws-kms":
            from bifrost.keys.aws_kms import AwsKms, AwsKmsSettings  # boto3 takes a second and 20 MiB

            settings = AwsKmsSettings(key_id, _region(kek), kek.also_opens, kek.address)
            return AwsKms(settings)
    except (OSError, ValueError) as error:
        raise KekUnavailable(f"{kek.provider}:{key_id}: cannot be used ({type(error).__name__})") from None
    if kek.provider == "file":
        from bifrost.keys.key_file import KeyFile

        return KeyFile(Path(kek.key_file or ""), key_id)
    raise UnknownKek(f"{kek.provider} is no provider of KEKs")


def _vault(kek: Kek, key_id: str) -> KekProvider:
    from bifrost.keys.vault import Vault, VaultSettings

    ca_file = kek.ca_file or os.environ.get("VAULT_CACERT")
    return Vault(
        VaultSettings(
            kek.address or os.environ.get("VAULT_ADDR") or VAULT_ADDRESS,
            key_id,
            Path(kek.token_file or VAULT_TOKEN_FILE).expanduser(),
            mount=kek.mount,
            namespace=kek.namespace or os.environ.get("VAULT_NAMESPACE") or None,
            ca_file=Path(ca_file) if ca_file else None,
        )
    )


def _region(kek: Kek) -> str | None:
    """Return the region that the rule or the ARN of the key says; None: as the environment says."""
    parts = kek.key_id.split(":")
    return kek.region or (parts[3] if kek.key_id.startswith("arn:") and len(parts) > 5 else None)
