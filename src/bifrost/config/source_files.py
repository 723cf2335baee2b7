"""The files of a configuration: one of a flat dialect, or Kubernetes-style documents in one file or in a folder.

A document with `apiVersion` or `kind` is of the second dialect; one with `listen`, `kafka` or `mapping`, and no section
of the first dialect, of the third; any other of the first. They are not mixed.
"""

from pathlib import Path

from bifrost.config.errors import ConfigError, Problem
from bifrost.config.files.document import Document, DocumentError, read_documents
from bifrost.config.files.reading import UnreadableError, read_file
from bifrost.config.files.source import Place, Source
from bifrost.config.kubernetes.resource import Resource
from bifrost.config.model import Config

MAX_FILE_BYTES = 1 << 20
"""Largest configuration file, in bytes: some 6,500 tenants, read in about two seconds."""

MAX_FILES = 1_024
"""Most files in a folder: more than the most virtual clusters, so that none is left out by mistake."""

MAX_FOLDER_BYTES = 8 << 20
"""Largest sum of the files in a folder, in bytes."""

SUFFIXES = (".yaml", ".yml")

_REMAPPER_KEYS = ("listen", "kafka", "mapping")
"""Sections that only a partition remapper's file has."""


def read_source(path: Path) -> Source:
    """Read a file, or every *.yaml and *.yml file of a folder (not of folders inside it) in the order of their names.

    Raises:
        ConfigError: a file cannot be read or is not YAML, or there is none.
    """
    problems: list[Problem] = []
    read: list[Resource] = []
    total = 0
    try:
        files = _files_at(path)
    except UnreadableError as error:
        raise ConfigError([Problem(str(path), None, str(error))]) from None
    for file in files:
        try:
            content = read_file(file, MAX_FILE_BYTES)
            total += len(content)
            if total > MAX_FOLDER_BYTES:
                text = f"the files of the folder up to here have more than {MAX_FOLDER_BYTES} bytes together"
                raise ConfigError([Problem(str(file), None, text)])
            read += [Resource(str(file), document) for document in read_documents(_decode(content))]
        except UnreadableError as error:
            problems.append(Problem(str(file), None, str(error)))
        except DocumentError as error:
            problems.append(Problem(str(file), error.line, error.text))
    if problems:
        raise ConfigError(problems)
    return _choose_dialect(read)


def _files_at(path: Path) -> list[Path]:
    """Return the files to read, without hidden ones: an editor's, or old versions of a mounted ConfigMap."""
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):
        is_folder = False  # opening it says what is wrong
    if not is_folder:
        return [path]
    try:
        names = [entry.name for entry in path.iterdir() if entry.suffix in SUFFIXES]
    except OSError as error:
        raise UnreadableError(f"cannot be listed ({error.strerror})") from None
    names = sorted(name for name in names if not name.startswith("."))
    if not names:
        raise UnreadableError("a folder without a .yaml or .yml file")
    if len(names) > MAX_FILES:
        raise UnreadableError(f"a folder with {len(names)} files, at most {MAX_FILES} are read: use fewer")
    return [path / name for name in names]


def _decode(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentError(line, "not UTF-8: save the file in that encoding") from None


def _choose_dialect(documents: list[Resource]) -> Source:
    # `---` at the end of a file begins an empty document.
    some = [one for one in documents if one.document.data is not None] or documents[:1]
    resources = [one for one in some if _is_resource(one.document)]
    others = [one for one in some if not _is_resource(one.document)]
    if resources:
        from bifrost.config.kubernetes.virtual_clusters import (
            VirtualClusters,
        )  # 0.3 MiB, for this dialect only

        source: Source = VirtualClusters(resources)
        text = (
            "a document without apiVersion and kind, beside others that have them: add the two, or remove it"
        )
    else:
        first, *others = others
        source = _flat_source(first)
        text = f"a second document, the first is in {first.file}: keep one, and remove the line --- if it is there"
    for one in others:
        source.problems.append((None, Place(one.file, one.document.line_of(())), text))
    return source


def _flat_source(only: Resource) -> Source:
    if not _is_remapper(only.document):
        return Source(only.file, only.document)
    from bifrost.config.remapper.remapper_file import RemapperFile  # for this dialect only

    return RemapperFile(only.file, only.document)


def _is_remapper(document: Document) -> bool:
    if not isinstance(document.data, dict):
        return False
    keys = document.data.keys()
    return not keys.isdisjoint(_REMAPPER_KEYS) and keys.isdisjoint(Config.model_fields)


def _is_resource(document: Document) -> bool:
    return isinstance(document.data, dict) and not document.data.keys().isdisjoint(("apiVersion", "kind"))
