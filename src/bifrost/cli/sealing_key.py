"""`bifrost sealing-key`: the wrapped key by which EnvelopeEncryption seals keys of records (`sealing_key_file`).

The key itself is in no file and on no terminal: it is made here, wrapped by the KEK, and forgotten. Exit status: 0 the
file is written; 1 it is not, and a line says why; 2 the command line is wrong.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from bifrost.encryption.kek import Kek
    from bifrost.encryption.sealing_key import SealingKey

sealing_key = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Make the wrapped key that seals keys of records.",
)

MAX_FILE_BYTES = 16_384
"""A larger file is a wrong path."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file, as `sealing_key_file` names it.")]
NewKek = Annotated[
    str,
    typer.Option(
        "--kek",
        metavar="KEK",
        help="The KEK of the filter: vault:URL#MOUNT/NAME, aws-kms:REGION#KEY, file:PATH#NAME, or @FILE with the keys "
        "of its config.",
    ),
]
VaultTokenFile = Annotated[str, typer.Option(metavar="FILE", help="A token of Vault.")]
VaultCaFile = Annotated[str, typer.Option(metavar="FILE", help="Certificates of Vault's, PEM.")]
VaultNamespace = Annotated[str, typer.Option(help="Of Vault Enterprise.")]
KmsEndpoint = Annotated[str, typer.Option(metavar="URL", help="Of AWS KMS. Default: the region's.")]


@sealing_key.command("create")
def create(
    file: File,
    kek: NewKek,
    vault_token_file: VaultTokenFile = "",
    vault_ca_file: VaultCaFile = "",
    vault_namespace: VaultNamespace = "",
    kms_endpoint: KmsEndpoint = "",
) -> None:
    """Make a sealing key, wrapped by a KEK, in a file that is not there yet."""
    access = (vault_token_file, vault_ca_file, vault_namespace, kms_endpoint)
    found = _kek(kek, access, "--kek")
    _begin()
    from bifrost.encryption.sealing_key import SEALING_KEY_BYTES, id_of

    key = os.urandom(SEALING_KEY_BYTES)
    text = _text(_wrapped(found, key, id_of(key)))
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except OSError as error:
        _fail(f"{file}: {error.strerror}")
    typer.echo(f"{file}: sealing key {id_of(key).hex()}")


@sealing_key.command("rewrap")
def rewrap(
    file: File,
    kek: NewKek,
    open_with: Annotated[
        list[str] | None,
        typer.Option(
            "--open-with", metavar="KEK", help="The KEK that wraps it now, if another; may be repeated."
        ),
    ] = None,
    vault_token_file: VaultTokenFile = "",
    vault_ca_file: VaultCaFile = "",
    vault_namespace: VaultNamespace = "",
    kms_endpoint: KmsEndpoint = "",
) -> None:
    """Wrap the same sealing key again, by the newest version of a KEK or by another one."""
    access = (vault_token_file, vault_ca_file, vault_namespace, kms_endpoint)
    new = _kek(kek, access, "--kek")
    others = [_kek(one, access, "--open-with") for one in open_with or ()]
    _begin()
    before = _read(file)
    made = _wrapped(new, _unwrapped(before, (new, *others)), before.key_id)
    # The old file goes when the new one is there and opens.
    _unwrapped(made, (new,))
    beside = file.with_name(f".{file.name}.new")
    try:
        beside.write_text(_text(made), encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        _fail(f"{beside}: {error.strerror}")
    typer.echo(f"{file}: sealing key {made.key_id.hex()} is wrapped by {_told(made)}")


def _begin() -> None:
    """Let no core file have the key, and no log line stand in the output."""
    from bifrost.cli.logs import configure_logs
    from bifrost.keys.core_dumps import forbid_core_dumps

    forbid_core_dumps()
    configure_logs(as_json=False, level="critical")


def _kek(text: str, access: tuple[str, str, str, str], option: str) -> Kek:
    from bifrost.pipeline.errors import PipelineError
    from bifrost.pipeline.stored.kek_texts import KmsAccess, read_kek

    try:
        return read_kek(text, KmsAccess(*access))
    except PipelineError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _wrapped(kek: Kek, key: bytes, key_id: bytes) -> SealingKey:
    from bifrost.encryption.errors import EncryptionError
    from bifrost.encryption.sealing_key import SEALING_CONTEXT, SealingKey
    from bifrost.keys.kek_providers import KekProviders

    try:
        providers = KekProviders(kek)
        try:
            return SealingKey(key_id, providers.writing.wrap(key, SEALING_CONTEXT))
        finally:
            providers.close()
    except EncryptionError as error:
        _fail(str(error))


def _unwrapped(sealing: SealingKey, keks: tuple[Kek, ...]) -> bytes:
    from bifrost.encryption.errors import EncryptionError, UnknownKek
    from bifrost.encryption.sealing_key import SEALING_CONTEXT
    from bifrost.keys.kek_providers import KekProviders

    refusals = []
    try:
        for kek in keks:
            providers = KekProviders(kek)
            try:
                opening = providers.opening(sealing.wrapped.as_bytes())
                return sealing.checked(opening.unwrap(sealing.wrapped, SEALING_CONTEXT))
            except UnknownKek as error:
                refusals.append(str(error))
            finally:
                providers.close()
    except EncryptionError as error:
        _fail(str(error))
    _fail("; ".join(refusals))


def _read(file: Path) -> SealingKey:
    from bifrost.encryption.errors import BrokenSeal
    from bifrost.encryption.sealing_key import read_sealing_key

    try:
        with file.open("rb") as source:
            return read_sealing_key(source.read(MAX_FILE_BYTES).decode())
    except OSError as error:
        _fail(f"{file}: {error.strerror}")
    except (BrokenSeal, UnicodeDecodeError) as error:
        _fail(f"{file}: {error}")


def _text(sealing: SealingKey) -> str:
    about = "Keep it: without this file, keys of records that were sealed with it are lost."
    return f"# Sealing key, wrapped by {_told(sealing)}. {about}\n{sealing.as_text()}\n"


def _told(sealing: SealingKey) -> str:
    wrapped = sealing.wrapped
    return f"{wrapped.kek} version {wrapped.kek_version}" if wrapped.kek_version else wrapped.kek


def _fail(reason: str) -> NoReturn:
    typer.echo(f"error: {reason}", err=True)
    raise typer.Exit(1)
