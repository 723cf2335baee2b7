"""A gateway that seals one topic by batches and another by values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.encryption.key_files import encryption, write_key_file
from support.gateways.gateway_process import GLOBEX, GatewayProcess


@contextmanager
def encrypting_gateway(
    directory: Path, bootstrap: str, *, batches: str, values: str
) -> Iterator[GatewayProcess]:
    """Run a gateway of the tenant globex in an empty directory; its KEK is in a key file there.

    Args:
        directory: of its files.
        bootstrap: address of the physical cluster.
        batches: topic whose batches are sealed.
        values: topic whose values are sealed.
    """
    key_file = write_key_file(directory / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [
            encryption(key_file, batches, label="sealed"),
            encryption(key_file, values, label="values", mode="values"),
        ]

    with GatewayProcess(directory, bootstrap, tenants=[GLOBEX], adjust=adjust) as process:
        yield process
