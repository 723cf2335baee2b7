"""Loads a configuration into a `Config`, or reports a list of everything that is wrong with it.

The steps: read the files with the line of every value (`source_files.py`, `document.py`), read the password files,
validate the values with the model (`model.py`, messages by `explain.py`), look for conflicts (`clashes.py`). Each step
continues after mistakes as far as it can, so that an operator corrects a file in one round.
"""

import hmac
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from bifrost.config.checks.admin_tokens import read_admin_tokens
from bifrost.config.checks.clashes import Clash, find_clashes
from bifrost.config.checks.hash_keys import read_hash_keys
from bifrost.config.checks.sealing_keys import read_sealing_keys
from bifrost.config.checks.tls_files import check_tls_files
from bifrost.config.checks.transform_files import find_transform_files
from bifrost.config.errors import ConfigError, Problem
from bifrost.config.explain import STRAY_HINT, explain, section_at, show_loc
from bifrost.config.fields.verifiers import (
    MIN_ITERATIONS,
    NEW_SALT_BYTES,
    SCRAM_HASHES,
    Mechanism,
    ScramVerifier,
    read_verifiers,
)
from bifrost.config.files.named_files import find_files
from bifrost.config.files.reading import UnreadableError, path_hint, read_regular_file
from bifrost.config.files.source import Place, Source
from bifrost.config.files.upstream_files import UnusableFile, lacks_gssapi, named_files, secured_sections
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.loc import Loc
from bifrost.config.mechanisms import unusable_mechanisms
from bifrost.config.model import NO_UPSTREAM, Config
from bifrost.config.secrets import READ_FROM_FILES, Secret
from bifrost.config.source_files import read_source

MAX_PASSWORD_BYTES = 4096
"""Largest file of a password or of verifiers, in bytes; a larger file is not a password but a wrong path."""

MIN_PSEUDONYM_KEY_BYTES = 16
"""128 bits: if they are random, an attacker cannot guess them."""

MAX_NAMED_FILE_BYTES = 1 << 20
"""Largest file of keys or certificates, in bytes."""

Derive = Callable[[Mechanism, bytes, str], ScramVerifier]
"""Makes the verifier of a mechanism, a password and a user name."""


def load(path: str | Path, salt_key: bytes) -> Config:
    """Read a configuration, a file or a folder, and the password files it names.

    Args:
        path: the file or folder.
        salt_key: random bytes, by which the salts of derived verifiers are made: with the same key the same files
            give equal `Config`s.

    Raises:
        ConfigError: the configuration is wrong; it has every problem found, each with its file and line.
    """
    source = read_source(Path(path))
    try:
        config, problems = _check(source, partial(_derive, salt_key))
        if config is None or problems:
            raise ConfigError([Problem(*place, text) for place, text in problems])
        return config if source.process is None else config.with_process(source.process)
    finally:
        source.let_go()


def _check(source: Source, derive: Derive) -> tuple[Config | None, list[tuple[Place, str]]]:
    """Return the configuration if the source has a valid one, and the mistakes with their places."""
    data = source.data
    if not isinstance(data, dict):
        what = "is empty" if data is None else "is not a mapping"
        text = f"the file {what}: write the sections proxy, upstream and tenants"
        return None, [(source.place_of(()), text)]
    found = {loc: (place, text) for loc, place, text in source.problems if loc is not None}
    others = [(place, text) for loc, place, text in source.problems if loc is None]

    def report(loc: Loc, text: str) -> None:
        # An error inside a value that is already reported is its consequence.
        around = [loc[:depth] for depth in range(1, len(loc) + 1)]
        if not any(place in found or place in source.unreported for place in around):
            found[loc] = (source.place_of(loc), source.word(loc, text))

    for loc in _remove_empty(data, ()):
        report(loc, f"{show_loc(loc)} has no value: write one, or remove the line")
    for read in (
        _read_pseudonym_key,
        partial(_read_secrets, derive),
        read_admin_tokens,
        read_hash_keys,
        read_sealing_keys,
        find_transform_files,
        check_tls_files,
        _read_upstream_files,
        _unreadable_files,
    ):
        for loc, text in read(data, source.folder):
            report(loc, text)
    config = None
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        for loc, text in explain(error, data, Config):
            report(loc, text)
    if config is not None and not found:
        for loc, text in unusable_mechanisms(config):
            report(loc, f"{show_loc(loc)}: {text}")
    for clash in _clashes(data, found.keys()):
        report(clash.loc, clash.text + _earlier(source, clash))
    return config, list(dict.fromkeys([*others, *found.values()]))


def _clashes(data: dict[str, object], bad: Collection[Loc]) -> Iterator[Clash]:
    if not data.keys() & {"upstream", "upstreams"}:
        yield Clash(("upstream",), NO_UPSTREAM)
    yield from find_clashes(data, bad)


def _earlier(source: Source, clash: Clash) -> str:
    """Return the text that names the place of the earlier value and explains both."""
    if clash.first is None:
        return source.hint(clash.loc)
    place = source.place_of(clash.first)
    is_here = place.file == source.place_of(clash.loc).file
    where = f"line {place.line}" if is_here else str(place)
    return f" (see {where}){source.hint(clash.loc, clash.first)}"


def _remove_empty(value: object, loc: Loc) -> Iterator[Loc]:
    """Remove keys without a value from the known sections, and yield their places.

    `allowed_topics:` with nothing behind it must not count as absent: that would give the tenant every name.
    """
    if isinstance(value, dict):
        for key in [key for key, content in value.items() if content is None]:
            section = section_at(Config, loc)
            if section and key in section.model_fields and key not in READ_FROM_FILES:
                del value[key]
                yield (*loc, key)
        for key, content in value.items():
            yield from _remove_empty(content, (*loc, key))
    elif isinstance(value, list):
        for index, content in enumerate(value):
            if content is None:
                yield (*loc, index)
            yield from _remove_empty(content, (*loc, index))


def _read_pseudonym_key(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Put the key beside `pseudonym_key_file`, and yield the mistakes in it."""
    proxy = data.get("proxy")
    if not isinstance(proxy, dict):
        return
    if "pseudonym_key" in proxy:
        hint = STRAY_HINT.replace("password_file", "pseudonym_key_file").replace("a password", "a secret")
        yield ("proxy", "pseudonym_key"), f"proxy.pseudonym_key: {hint}"
        del proxy["pseudonym_key"]
    name = proxy.get("pseudonym_key_file")
    if not isinstance(name, str) or not name:
        return
    path = folder / name
    try:
        key = read_regular_file(path, MAX_PASSWORD_BYTES).strip()
        if len(key) < MIN_PSEUDONYM_KEY_BYTES:
            raise UnreadableError(f"less than {MIN_PSEUDONYM_KEY_BYTES} bytes: write random ones into it")
        proxy["pseudonym_key"] = KeptSecret(key)
    except UnreadableError as error:
        loc: Loc = ("proxy", "pseudonym_key_file")
        yield loc, f"{show_loc(loc)}: file of the key {path}: {error}{path_hint(name, path)}"


def _read_secrets(derive: Derive, data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Put the files' content beside every `password_file` and `scram_file`, and yield what is wrong with the files.

    A credential whose file cannot be read gets none: the configuration as a whole is refused then. One whose secret the
    source has read itself keeps that.
    """
    derived = _offered_scram(data)

    def keep(credential: dict[str, object], password: bytes) -> None:
        credential["password"] = Secret(password)
        name = str(credential.get("username"))
        credential["verifiers"] = tuple(derive(one, password, name) for one in derived)

    for loc, credential in _credentials(data):
        for stray in _strays(credential):
            yield (*loc, stray), f"{show_loc((*loc, stray))}: {STRAY_HINT}"
            del credential[stray]
        given = credential.get("password")
        if isinstance(given, KeptSecret):
            keep(credential, given.reveal())
        if not READ_FROM_FILES.isdisjoint(credential):
            continue
        for key, what in (("password_file", "password file"), ("scram_file", "SCRAM file")):
            name = credential.get(key)
            if not isinstance(name, str) or not name:
                continue
            path = folder / name
            try:
                content = read_regular_file(path, MAX_PASSWORD_BYTES)
                if key == "scram_file":
                    credential["verifiers"] = _read_verifiers(content)
                else:
                    keep(credential, _read_password(content))
            except UnreadableError as error:
                hint = path_hint(name, path)
                yield (*loc, key), f"{show_loc((*loc, key))}: {what} {path}: {error}{hint}"


def _read_upstream_files(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Put the secrets and paths of the files that secure connections to brokers into `data`; yield what is wrong."""
    for at, section, is_tls in secured_sections(data):
        for stray in _strays(section):
            yield (
                (*at, stray),
                f"{show_loc((*at, stray))}: {STRAY_HINT.replace('password_file', f'{stray}_file')}",
            )
            del section[stray]
        if lacks_gssapi(section):
            text = (
                "GSSAPI needs the library gssapi, which is not installed: "
                "pip install '.[gssapi]' in a clone of Bifrost"
            )
            yield (*at, "mechanism"), f"{show_loc((*at, 'mechanism'))}: {text}"
        for file in named_files(at, section, is_tls=is_tls):
            path = folder / str(section[file.key])
            try:
                content = read_regular_file(path, file.max_bytes)
                if file.is_secret:
                    file.keep_secret(_read_password(content))
                else:
                    file.keep_path(content, str(path.absolute()))
            except (UnreadableError, UnusableFile) as error:
                is_here = Path(str(section[file.key])).is_absolute() or path.exists()
                hint = "" if is_here else "; a relative path starts at the folder of this file"
                yield file.loc, f"{show_loc(file.loc)}: {file.what} {path}: {error}{hint}"


def _strays(section: dict[str, object]) -> list[str]:
    """Return the keys of secrets that are written in the file; a secret that the source has read is no text there."""
    written = (key for key in READ_FROM_FILES & section.keys() if not _is_read(section[key]))
    return sorted(written)


def _is_read(value: object) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(one, ScramVerifier) for one in value)
    return isinstance(value, KeptSecret)


def _unreadable_files(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    for loc, what, path in find_files(data, folder):
        try:
            read_regular_file(path, MAX_NAMED_FILE_BYTES)
        except UnreadableError as error:
            yield loc, f"{show_loc(loc)}: {what} {path}: {error}"


def _read_password(content: bytes) -> bytes:
    password = content.removesuffix(b"\n").removesuffix(b"\r")
    if not password.strip():
        raise UnreadableError("empty: write the password into it")
    if b"\0" in password:
        raise UnreadableError("holds a NUL byte, which SASL/PLAIN cannot carry: is it the right file?")
    return password


def _read_verifiers(content: bytes) -> tuple[ScramVerifier, ...]:
    try:
        return read_verifiers(content.decode("ascii"))
    except UnicodeDecodeError:
        raise UnreadableError("not the text that bifrost credentials prints: is it the right file?") from None
    except ValueError as error:
        raise UnreadableError(str(error)) from None


def _derive(salt_key: bytes, mechanism: Mechanism, password: bytes, username: str) -> ScramVerifier:
    """Make a verifier with the fewest iterations: more protect nothing, because the password is in a file here."""
    salt = hmac.digest(salt_key, f"{mechanism} {username}".encode("utf-8", "surrogatepass"), "sha512")
    return ScramVerifier.derive(mechanism, password, salt[:NEW_SALT_BYTES], MIN_ITERATIONS)


def _offered_scram(data: dict[str, object]) -> list[Mechanism]:
    """Return the SCRAM mechanisms that any listener set offers, as far as the file is readable."""
    proxy = data.get("proxy")
    sets = proxy.get("listener_sets") if isinstance(proxy, dict) else None
    every = sets if isinstance(sets, list) else []
    offered = [one.get("sasl_mechanisms") for one in every if isinstance(one, dict)]
    lists = [one if isinstance(one, list) else list(SCRAM_HASHES) for one in offered]
    return [mechanism for mechanism in SCRAM_HASHES if any(mechanism in one for one in lists)]


def _credentials(data: dict[str, object]) -> Iterator[tuple[Loc, dict[str, object]]]:
    """Yield every credential that is a mapping, and its place."""
    tenants = data.get("tenants")
    for index, tenant in enumerate(tenants if isinstance(tenants, list) else ()):
        auth = tenant.get("auth") if isinstance(tenant, dict) else None
        credentials = auth.get("credentials") if isinstance(auth, dict) else None
        for number, credential in enumerate(credentials if isinstance(credentials, list) else ()):
            if isinstance(credential, dict):
                yield ("tenants", index, "auth", "credentials", number), credential
