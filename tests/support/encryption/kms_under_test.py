"""A KMS behind gateways in tests: AWS KMS as moto plays it, or a real Vault; with a relay before it that can fail.

BIFROST_TEST_KMS says which: `moto`, the default, or `vault` (`make records`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from bifrost.wire.error_codes import ErrorCode
from support.encryption.real_vault import ask, new_key, vault_address
from support.faults.fault import Fault
from support.faults.fault_proxy import Address, FaultProxy
from support.gateways.gateway_process import HOST, free_ports

REGION = "eu-central-1"
ALIAS = "alias/payments"
MOTO_ACCOUNT = "123456789012"
SILENT = Fault(is_silent=True)
"""As a firewall that drops packets: the longest that a KMS can be away."""


class Kms(Protocol):
    """What an administrator of a KMS does."""

    address: Address
    """Where its API is."""
    code_without_key: ErrorCode
    """What producers are told when their key was deleted."""

    def config(self, address: Address, key: str) -> dict[str, Any]:
        """Return what a filter says in order to use a key through a relay at `address`."""

    def new_key(self) -> str:
        """Make a key that is never rotated, and return what filters call it."""

    def rotated_key(self) -> str:
        """Return what filters call the key that `rotate` rotates."""

    def rotate(self) -> None:
        """Let new DEKs be wrapped by other material from now on."""

    def delete(self, key: str) -> None:
        """Delete a key for good."""


class MotoKms:
    """AWS KMS as moto plays it, in a thread of the tests."""

    code_without_key = ErrorCode.POLICY_VIOLATION

    def __init__(self) -> None:
        """Start it, with a key behind an alias, and with a second one, to which `rotate` moves the alias."""
        import boto3
        from moto.server import ThreadedMotoServer

        self._server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.address = (host, port)
        self._client = boto3.client("kms", region_name=REGION, endpoint_url=f"http://{host}:{port}")
        self._keys = [self.new_key(), self.new_key()]
        self._client.create_alias(AliasName=ALIAS, TargetKeyId=self._keys[0])

    def config(self, address: Address, key: str) -> dict[str, Any]:
        """See `Kms`."""
        endpoint = {"region": REGION, "endpoint_url": f"http://{address[0]}:{address[1]}"}
        also = {"also_opens": [self._keys[0]]} if key == ALIAS else {}
        return {"kms_provider": "AwsKms", "key_id": key, "aws_kms": endpoint, **also}

    def new_key(self) -> str:
        """See `Kms`."""
        return str(self._client.create_key()["KeyMetadata"]["Arn"])

    def rotated_key(self) -> str:
        """See `Kms`."""
        return ALIAS

    def rotate(self) -> None:
        """See `Kms`: an alias is moved, for KMS shows no version of a key that it rotates itself."""
        self._client.update_alias(AliasName=ALIAS, TargetKeyId=self._keys[1])

    def delete(self, key: str) -> None:
        """See `Kms`: as KMS is when the days have passed for which a deletion can be taken back."""
        from moto.kms.models import kms_backends

        del kms_backends[MOTO_ACCOUNT][REGION].keys[key.rpartition("/")[2]]

    def close(self) -> None:
        """Stop it, and forget its keys: moto keeps them for the whole process."""
        from moto.kms.models import kms_backends

        self._server.stop()
        kms_backends.reset()


class VaultKms:
    """The transit engine of a real Vault."""

    code_without_key = ErrorCode.REQUEST_TIMED_OUT
    """To a token that may make no keys Vault says only that it may not, which may be mended."""

    def __init__(self, address: str, directory: Path) -> None:
        """Make a key, and write a token into a directory that may seal and open."""
        self._base = address
        parts = urlsplit(address)
        assert parts.hostname is not None
        self.address = parts.hostname, parts.port or 80
        self._token_file = directory / "vault.token"
        # Not the administrator's: that one would make a key that was deleted anew.
        rights = "".join(
            f'path "transit/{verb}/*" {{ capabilities = ["update"] }}\n' for verb in ("encrypt", "decrypt")
        )
        ask(address, "PUT", "sys/policies/acl/sealing", {"policy": rights})
        made = ask(address, "POST", "auth/token/create", {"policies": ["sealing"], "ttl": "1h"})
        self._token_file.write_text(made["auth"]["client_token"])
        self._key = self.new_key()

    def config(self, address: Address, key: str) -> dict[str, Any]:
        """See `Kms`."""
        vault = {"address": f"http://{address[0]}:{address[1]}", "token_file": str(self._token_file)}
        return {"kms_provider": "Vault", "key_id": key, "vault": vault}

    def new_key(self) -> str:
        """See `Kms`."""
        return new_key(self._base)

    def rotated_key(self) -> str:
        """See `Kms`."""
        return self._key

    def rotate(self) -> None:
        """See `Kms`."""
        ask(self._base, "POST", f"transit/keys/{self._key}/rotate", {})

    def delete(self, key: str) -> None:
        """See `Kms`."""
        ask(self._base, "POST", f"transit/keys/{key}/config", {"deletion_allowed": True})
        ask(self._base, "DELETE", f"transit/keys/{key}")


@contextmanager
def kms_under_test(directory: Path) -> Iterator[Kms]:
    """Start the KMS that BIFROST_TEST_KMS names."""
    if os.environ.get("BIFROST_TEST_KMS", "moto") == "vault":
        with vault_address() as address:
            yield VaultKms(address, directory)
        return
    moto = MotoKms()
    try:
        yield moto
    finally:
        moto.close()


@contextmanager
def relay_before(kms: Kms) -> Iterator[FaultProxy]:
    """Relay to a KMS from an address of its own (`addresses`)."""
    with FaultProxy({(HOST, free_ports(1)): kms.address}) as relay:
        yield relay
