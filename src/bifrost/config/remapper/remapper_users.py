"""The secrets of a partition remapper's file: users in it or in a file beside it, and `${NAME}` for the environment.

    users: { alice: "${ALICE}", bob: { salt: ..., stored_key: ..., server_key: ..., iterations: 4096 } }
    users: [{ username: alice, password: secret }]
    a file of lines                       alice:secret

They become credentials of the flat dialect whose secrets are read already, so a password is text nowhere behind here.
No message has a value.
"""

import os
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from bifrost.config.explain import explain, show_loc
from bifrost.config.fields.verifiers import SCRAM_HASHES, Mechanism, digest_size, read_verifiers
from bifrost.config.files.document import DocumentError, read_documents
from bifrost.config.files.reading import UnreadableError, path_hint, read_regular_file
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.loc import Loc
from bifrost.config.remapper.sections import ListenCredentials, RemapperUser

MAX_USERS_BYTES = 1 << 20
"""Largest file of users, in bytes, as of the configuration."""

MAX_PASSWORD_BYTES = 4096
"""Longest password, as in a file of one."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class UnusableUsers(ValueError):
    """Users that cannot be used; the message is for the operator, and `loc` is the place below the credentials."""

    def __init__(self, loc: Loc, text: str) -> None:
        super().__init__(text)
        self.loc = loc


def expanded(text: str) -> str:
    """Return a text with the values of the environment variables that it names.

    Raises:
        UnusableUsers: one of them is not set.
    """

    def value(match: re.Match[str]) -> str:
        try:
            return os.environ[match[1]]
        except KeyError:
            raise UnusableUsers((), f"the environment variable {match[1]} is not set") from None

    return _VARIABLE.sub(value, text)


def is_literal(text: str | None) -> bool:
    """Whether a password stands in the file itself."""
    return text is not None and _VARIABLE.search(text) is None


def secret(text: str) -> KeptSecret:
    """Return a password with the values of environment variables in it.

    Raises:
        UnusableUsers: a variable is not set, or SASL cannot carry the password.
    """
    value = expanded(text).encode()
    if not value.strip():
        raise UnusableUsers((), "the password is empty")
    if b"\0" in value or len(value) > MAX_PASSWORD_BYTES:
        text = f"the password has a NUL byte, or more than {MAX_PASSWORD_BYTES} bytes"
        raise UnusableUsers((), text)
    return KeptSecret(value)


def credentials(listed: ListenCredentials, folder: Path) -> list[dict[str, object]]:
    """Return the credentials of the flat dialect.

    Raises:
        UnusableUsers: the file cannot be read, or a user has no usable secret.
    """
    if (listed.users is None) == (listed.file is None):
        what = (
            "has no users: add users, or file"
            if listed.users is None
            else "has both users and file: remove one"
        )
        raise UnusableUsers((), what)
    if listed.users is not None:
        return [_credential(user, ("users", number)) for number, user in enumerate(listed.users)]
    assert listed.file is not None
    path = folder / listed.file
    try:
        users = _read_users(read_regular_file(path, MAX_USERS_BYTES))
        found = [_credential(user, ("users", number)) for number, user in enumerate(users)]
    except UnreadableError as error:
        raise UnusableUsers(
            ("file",), f"file of users {path}: {error}{path_hint(listed.file, path)}"
        ) from None
    except UnusableUsers as error:
        # Lines of the other file cannot be places of this one.
        raise UnusableUsers(("file",), f"file of users {path}: {show_loc(error.loc)}: {error}") from None
    for one in found:
        one["password_file" if "password" in one else "scram_file"] = (
            listed.file
        )  # It is watched for changes.
    return found


def _read_users(content: bytes) -> list[RemapperUser]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableError("not UTF-8") from None
    lines = [line.strip() for line in text.splitlines()]
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first.startswith("users:"):
        return _read_yaml(text)
    found = []
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        name, colon, password = line.partition(":")
        if not colon or not password:
            raise UnreadableError(f"line {number}: expected name:password")
        found.append(_user({"username": name, "password": password}, f"line {number}"))
    if not found:
        raise UnreadableError("has no user: write name:password into it")
    return found


def _read_yaml(text: str) -> list[RemapperUser]:
    try:
        [document, *_] = read_documents(text)
    except DocumentError as error:
        raise UnreadableError(f"line {error.line}: {error.text}") from None
    data = document.data
    if not isinstance(data, dict) or data.keys() != {"users"}:
        raise UnreadableError("expected users alone, a mapping of names to passwords or keys")
    try:
        users = ListenCredentials.model_validate({"users": data["users"]}).users
    except ValidationError as error:
        [(_, what), *_] = explain(error, {"credentials": data}, ListenCredentials)
        raise UnreadableError(what) from None
    return list(users or ())


def _user(values: Mapping[str, object], where: str) -> RemapperUser:
    try:
        return RemapperUser.model_validate(values)
    except ValidationError as error:
        # What pydantic found is not told: it would repeat a part of the line.
        place = ", ".join(
            sorted({str(one["loc"][-1]) for one in error.errors(include_input=False, include_url=False)})
        )
        raise UnreadableError(f"{where}: {place} is not valid") from None


def _credential(user: RemapperUser, at: Loc) -> dict[str, object]:
    keys = (user.salt, user.stored_key, user.server_key)
    try:
        if user.password_ is not None:
            if any(keys):
                raise UnusableUsers((), "has both a password and keys: remove one")
            return {"username": user.username, "password": secret(user.password_)}
        if not all(keys):
            raise UnusableUsers((), "needs password, or salt, stored_key and server_key")
        return {"username": user.username, "verifiers": read_verifiers(_line(user))}
    except UnusableUsers as error:
        raise UnusableUsers(at, str(error)) from None
    except ValueError as error:
        raise UnusableUsers(at, str(error).removeprefix("line 1: ")) from None


def _line(user: RemapperUser) -> str:
    """Return the line of a file of verifiers, which says what is wrong with the keys when it is read."""
    found = next(_mechanisms(user.stored_key or ""), Mechanism.SCRAM_SHA_256)
    mechanism: str = user.mechanism or found
    keys = f"salt={user.salt},stored_key={user.stored_key},server_key={user.server_key}"
    return f"{mechanism}=[{keys},iterations={user.iterations}]"


def _mechanisms(stored_key: str) -> Iterator[Mechanism]:
    try:
        size = len(b64decode(stored_key))
    except Base64Error:
        return
    yield from (one for one in SCRAM_HASHES if digest_size(one) == size)
