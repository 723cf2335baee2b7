"""Kafka's message definitions: read from kafka-clients jars, merged into one table.

A kafka-clients jar carries every message of the protocol as JSON with comments under `common/message/`. A
newer Kafka drops old versions of a message (KIP-896) and adds new ones, so the table is the union of the
releases it is told about: for each version of a message the newest release that defines it decides. The
result keeps facts only: names, types, version ranges, nullability, defaults, tags, entity types.

`verify` proves the union: projected onto any one version, the merged definition is that release's own.

Source: README.md in `common/message/` of the jar; MessageSpec, StructSpec and FieldSpec of Kafka's generator.
"""

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Definitions = dict[str, Json]

# In the order in which they are written; the right-hand names are Kafka's own.
_RANGES = (("versions", "versions"), ("nullable", "nullableVersions"), ("tagged", "taggedVersions"))
_FACTS = (("entity", "entityType"), ("ignorable", "ignorable"), ("mapKey", "mapKey"))
_DATA_MESSAGES = ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment")
_OPEN = 32767
# Where an open range is listed; Fetch, the most revised message, is at 18 after fifteen years.
_ALL_VERSIONS = range(0, 64)
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*')


class DefinitionError(ValueError):
    """Two releases cannot be put into one definition, or a definition has something unknown to this tool."""


def read_definitions(jar: Path) -> Definitions:
    """Read every message definition of a kafka-clients jar, by message name."""
    with zipfile.ZipFile(jar) as archive:
        names = [n for n in archive.namelist() if n.startswith("common/message/") and n.endswith(".json")]
        if not names:
            raise DefinitionError(f"{jar.name} holds no message definitions under common/message/")
        messages = [read_definition(archive.read(name).decode()) for name in names]
    # A response has its request's versions; that the last of them is unstable is only said of the request.
    unstable = {message["apiKey"] for message in messages if message.get("latestVersionUnstable")}
    for message in messages:
        if message.get("apiKey") in unstable:
            message["latestVersionUnstable"] = True
    return {message["name"]: message for message in messages}


def read_definition(text: str) -> Json:
    """Read one definition: JSON with `//` comments; common structs are put where they are used."""
    message: Json = json.loads(_STRING_OR_COMMENT.sub(lambda m: m.group(1) or "", text))
    commons = {struct["name"]: struct["fields"] for struct in message.pop("commonStructs", [])}

    def inlined(fields: Sequence[Json]) -> list[Json]:
        result = []
        for field in fields:
            inner = field.get("fields") or commons.get(field["type"].removeprefix("[]"))
            result.append(field | {"fields": inlined(inner)} if inner else field)
        return result

    return message | {"fields": inlined(message.get("fields", []))}


def versions_in(text: str | None, among: Sequence[int] = _ALL_VERSIONS) -> set[int]:
    """Give the versions of Kafka's range notation (`3`, `0-4`, `9+`, `none`) that are in `among`."""
    if text is None or text == "none":
        return set()
    low, dash, high = text.removesuffix("+").partition("-")
    top = _OPEN if text.endswith("+") else int(high if dash else low)
    return {version for version in among if int(low) <= version <= top}


def write_versions(versions: set[int], *, is_open: bool) -> str:
    """Write versions in Kafka's range notation, with an open end if asked for.

    Raises:
        DefinitionError: the versions have a gap.
    """
    if not versions:
        return "none"
    low, high = min(versions), max(versions)
    if len(versions) != high - low + 1:
        raise DefinitionError(f"versions {sorted(versions)} are not one range")
    if is_open:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


def build_table(releases: Mapping[str, Definitions]) -> list[Json]:
    """Merge the releases (oldest first) into one definition per message that a broker receives or answers."""
    newest = list(releases.values())[-1]
    merged: Definitions = {}
    for definitions in releases.values():
        for name, message in definitions.items():
            if name in newest or not _is_renamed(message, newest):
                merged[name] = _merge_message(merged.get(name), message)
    broker_keys = {m["apiKey"] for m in merged.values() if _is_for_brokers(m)}
    table = [m for m in merged.values() if m.get("apiKey") in broker_keys or m["type"] == "header"]
    table += [merged[name] for name in _DATA_MESSAGES]
    kinds = ("request", "response", "header", "data")
    table.sort(key=lambda m: (m.get("apiKey", _OPEN), kinds.index(m["type"]), m["name"]))
    return [_compact_message(message) for message in table]


def verify(table: Sequence[Json], releases: Mapping[str, Definitions]) -> None:
    """Prove that the table says what the releases say, version by version.

    Raises:
        DefinitionError: a message differs, in a version, from the newest release that defines it, or two
            releases contradict each other about a version that both call stable.
    """
    for entry in table:
        stable: dict[int, object] = {}
        decided: dict[int, object] = {}
        for release, definitions in releases.items():
            source = definitions.get(entry["name"]) or _renamed_to(entry, definitions)
            if source is None:
                continue
            compact = _compact_message(source)
            versions = versions_in(source["validVersions"])
            unstable = max(versions) if versions and source.get("latestVersionUnstable") else None
            for version in versions:
                shape = project(compact, version, with_names=False)
                if version != unstable and stable.setdefault(version, shape) != shape:
                    raise DefinitionError(f"{entry['name']} v{version}: {release} redefines a stable version")
                if source["name"] == entry["name"]:
                    decided[version] = project(compact, version)
        versions = versions_in(entry["versions"])
        if lost := stable.keys() - versions:
            raise DefinitionError(f"{entry['name']}: the union lacks the versions {sorted(lost)}")
        for version in versions:
            if version not in decided or project(entry, version) != decided[version]:
                raise DefinitionError(f"{entry['name']} v{version}: the union differs from its source")


def project(message: Json, version: int, *, with_names: bool = True) -> object:
    """Give what a message of the table is at one version, in a form that can be compared."""

    def fields(entries: Sequence[Json]) -> list[object]:
        return [field(entry) for entry in entries if version in versions_in(entry["versions"], [version])]

    def field(entry: Json) -> object:
        kind = entry["type"]
        return (
            entry["name"] if with_names else None,
            kind if with_names or "fields" not in entry else kind.startswith("[]"),
            version in versions_in(entry.get("nullable"), [version]),
            entry["tag"] if version in versions_in(entry.get("tagged"), [version]) else None,
            version in versions_in(entry["flexible"], [version]) if "flexible" in entry else None,
            entry.get("default"),
            entry.get("entity") if with_names else None,
            fields(entry.get("fields", [])),
        )

    return version in versions_in(message["flexible"], [version]), fields(message["fields"])


def _is_for_brokers(message: Json) -> bool:
    return message["type"] == "request" and "broker" in message.get("listeners", [])


def _is_renamed(message: Json, newest: Definitions) -> bool:
    """Say whether the newest release has this message under another name: the same API key and direction."""
    key, kind = message.get("apiKey"), message["type"]
    return key is not None and any(m.get("apiKey") == key and m["type"] == kind for m in newest.values())


def _renamed_to(entry: Json, definitions: Definitions) -> Json | None:
    same = (
        m for m in definitions.values() if m.get("apiKey") == entry.get("key") and m["type"] == entry["kind"]
    )
    return next(same, None) if "key" in entry else None


def _merge_message(old: Json | None, new: Json) -> Json:
    if old is None:
        return new
    decided = versions_in(new["validVersions"])
    only_old = versions_in(old["validVersions"]) - decided
    if old.get("latestVersionUnstable"):
        # A version that was never stable and was withdrawn is no part of the protocol (ShareFetch v0 of 3.9).
        only_old.discard(max(versions_in(old["validVersions"])))
    if not only_old:
        return new
    if not decided:
        return old
    merger = _Merger(only_old, decided)
    try:
        return new | {
            "validVersions": write_versions(only_old | decided, is_open=False),
            "flexibleVersions": merger.range(old.get("flexibleVersions"), new.get("flexibleVersions")),
            "fields": merger.fields(old["fields"], new["fields"]),
        }
    except DefinitionError as error:
        raise DefinitionError(f"{new['name']}: {error}") from error


class _Merger:
    """Merges one message's fields: the old release speaks for `only_old` versions, the new for `decided`."""

    def __init__(self, only_old: set[int], decided: set[int]) -> None:
        self._only_old = only_old
        self._decided = decided
        self._all = sorted(only_old | decided)

    def range(self, old: str | None, new: str | None) -> str:
        """Merge two ranges, in the notation of one of them where that is right."""
        versions = versions_in(old, sorted(self._only_old)) | versions_in(new, sorted(self._decided))
        for text in (new, old):
            if versions_in(text, self._all) == versions and text is not None:
                return text
        is_open = max(self._all) in versions and (new or "").endswith("+")
        return write_versions(versions, is_open=is_open)

    def fields(self, old: Sequence[Json], new: Sequence[Json]) -> list[Json]:
        """Merge field lists; a field that only the old release knows stays after its predecessor."""
        by_name = {field["name"]: field for field in new}
        shared = [field["name"] for field in old if field["name"] in by_name]
        order = [field["name"] for field in new if field["name"] in shared]
        if shared != order:
            raise DefinitionError(f"the fields {shared} changed their order to {order}")
        merged = [self.field({f["name"]: f for f in old}.get(f["name"]), f) for f in new]
        for before, field in pairwise([None, *old]):
            if field is not None and field["name"] not in by_name:
                names = [f["name"] for f in merged]
                merged.insert(names.index(before["name"]) + 1 if before else 0, self.field(field, None))
        return [field for field in merged if field["versions"] != "none"]

    def field(self, old: Json | None, new: Json | None) -> Json:
        """Merge one field; where only one release has it, its ranges are cut to that release's versions."""
        present = new or old or {}
        if old and new:
            for fact in ("type", "default", "tag", "flexibleVersions"):
                if _fact(old, fact) != _fact(new, fact):
                    raise DefinitionError(f"{new['name']}.{fact} is {old.get(fact)!r} and {new.get(fact)!r}")
        merged = dict(present)
        for _, key in _RANGES:
            if key in present or (old and key in old):
                merged[key] = self.range((old or {}).get(key), (new or {}).get(key))
        if "fields" in present:
            merged["fields"] = self.fields((old or {}).get("fields", []), (new or {}).get("fields", []))
        return merged


def _fact(field: Json, name: str) -> str | None:
    return str(field[name]).lower() if name in field else None


def _compact_message(message: Json) -> Json:
    result: Json = {"name": message["name"]}
    if "apiKey" in message:
        result["key"] = message["apiKey"]
    result["kind"] = message["type"]
    if "listeners" in message:
        result["listeners"] = [name for name in message["listeners"] if name != "zkBroker"]
    result["versions"] = message["validVersions"]
    result["flexible"] = message.get("flexibleVersions", "none")
    if message.get("latestVersionUnstable"):
        result["unstable"] = True
    return result | {"fields": [_compact_field(field) for field in message["fields"]]}


def _compact_field(field: Json) -> Json:
    result: Json = {"name": field["name"], "type": field["type"]}
    if "tag" in field:
        result["tag"] = int(field["tag"])
    for short, key in _RANGES:
        if field.get(key, "none") != "none":
            result[short] = field[key]
    if "flexibleVersions" in field:
        result["flexible"] = field["flexibleVersions"]
    if "default" in field:
        default = field["default"]
        result["default"] = str(default).lower() if isinstance(default, bool) else str(default)
    for short, key in _FACTS:
        if field.get(key):
            result[short] = field[key]
    if "fields" in field:
        result["fields"] = [_compact_field(inner) for inner in field["fields"]]
    return result


def write_table(sources: Sequence[str], table: Sequence[Json]) -> str:
    """Write the table as one JSON object, one message per line: a new release then reads well as a diff."""
    lines = ",\n".join(json.dumps(message, separators=(",", ":")) for message in table)
    return f'{{"sources":{json.dumps(list(sources), separators=(",", ":"))},"messages":[\n{lines}\n]}}\n'
