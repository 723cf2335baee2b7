"""Which KEK seals the records of a topic, and where it is: what a rule says, and what a provider is made from."""

from typing import NamedTuple


class Kek(NamedTuple):
    """A KEK; equal ones are one. It names files of secrets and has none."""

    provider: str
    """`vault`, `aws-kms` or `file`: how references in envelopes begin."""
    key_id: str
    """The KEK that wraps: the name of a key, with Vault in its mount; with AWS KMS an ID, an ARN or an alias."""
    also_opens: tuple[str, ...] = ()
    """KEKs of the same provider that wrapped before; with AWS KMS their ARNs."""
    address: str | None = None
    """Of Vault, or of AWS KMS where it is not that of the region; None: the provider's default."""
    token_file: str | None = None
    mount: str = "transit"
    namespace: str | None = None
    ca_file: str | None = None
    region: str | None = None
    key_file: str | None = None
    max_age_ms: int = 600_000
    """How long a DEK seals and opens without asking the KEK, in milliseconds."""
