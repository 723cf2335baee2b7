"""KEKs in a file, for trying encryption out: what protects the records then is the file's own protection.

    # name    version  32 bytes in base64
    payments  1        q83v...
    payments  2        Zm9v...

The highest version of a KEK wraps, all unwrap. The file is read again for each DEK that is not in a cache, so a new
version is in use without a restart.
"""

import base64
import binascii
import os
import stat
from pathlib import Path

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.encryption.wrapped_dek import WrappedDek

log = structlog.get_logger()

KEK_BYTES = 32
MAX_FILE_BYTES = 1 << 20
_NONCE = 12
_MAX_VERSION = 2**32 - 1


class KeyFile:
    """One KEK of a key file."""

    def __init__(self, path: Path, key: str) -> None:
        """Take a KEK into use, and say that this is for trying out.

        Args:
            path: of the file.
            key: the name of the KEK in it.
        Raises:
            KekUnavailable: the file cannot be read, or others than its owner may read it.
            UnknownKek: the KEK is not in it.
        """
        self.name = f"file:{key}"
        self._path, self._key = path, key
        self._keks()
        log.warning(
            "key_file_in_use",
            files=[str(path)],
            detail="a person who has the file can read all records: it is for trying out, use a KMS in production",
        )

    def __repr__(self) -> str:
        return f"KeyFile({self.name!r})"

    def wrap(self, key: bytes, context: DekContext) -> WrappedDek:
        """See `KekProvider`."""
        version, kek = max(self._keks().items())
        nonce = os.urandom(_NONCE)
        return WrappedDek(self.name, version, nonce + AESGCM(kek).encrypt(nonce, key, context.as_bytes()))

    def unwrap(self, wrapped: WrappedDek, context: DekContext) -> bytes:
        """See `KekProvider`."""
        if wrapped.kek != self.name:
            raise UnknownKek(f"the envelope names the KEK {wrapped.kek[:80]!r}, not {self.name!r}")
        kek = self._keks().get(wrapped.kek_version)
        if kek is None:
            raise UnknownKek(f"{self.name}: the file has no version {wrapped.kek_version} of it")
        try:
            return AESGCM(kek).decrypt(wrapped.wrapped[:_NONCE], wrapped.wrapped[_NONCE:], context.as_bytes())
        except (InvalidTag, ValueError):
            raise UnknownKek(f"{self.name}: it did not wrap this DEK for this topic") from None

    def close(self) -> None:
        """See `KekProvider`."""

    def _keks(self) -> dict[int, bytes]:
        """Return the versions of the KEK."""
        found = {}
        for number, line in enumerate(_read(self._path).splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            name, version, kek = _parse(line, f"{self._path}, line {number}")
            if name == self._key:
                found[version] = kek
        if not found:
            raise UnknownKek(f"{self._path} has no KEK {self._key!r}")
        return found


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise KekUnavailable(f"{path}: others than its owner may read it; chmod 600")
            return file.read(MAX_FILE_BYTES).decode()
    except OSError as error:
        raise KekUnavailable(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise KekUnavailable(f"{path}: is no text") from None


def _parse(line: str, where: str) -> tuple[str, int, bytes]:
    """Return name, version and KEK of a line; no error shows the line."""
    fields = line.split()
    try:
        name, version, kek = fields[0], int(fields[1]), base64.b64decode(fields[2], validate=True)
    except (IndexError, ValueError, binascii.Error):
        raise KekUnavailable(f"{where}: expected a name, a version and 32 bytes in base64") from None
    if len(fields) != 3 or not 0 < version <= _MAX_VERSION or len(kek) != KEK_BYTES:
        raise KekUnavailable(f"{where}: expected a name, a version from 1 on and 32 bytes in base64")
    return name, version, kek
