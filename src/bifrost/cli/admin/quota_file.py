"""The file that `bifrost quotas apply` takes: quotas by namespace and entity, as `bifrost pipeline bill` suggests them.

{"quotas_format": 1, "alterations": [
    {"namespace": "acme:dev", "entity": {"namespace": null}, "values": {"producer_byte_rate": 1048576}}]}

An entity is as in the admin API: `user` and `client-id`, null being the default, or `namespace` with null for all
clients of the namespace together. A null value removes a quota. Other fields say why, for people.
"""

import json
from pathlib import Path
from typing import Any

FORMAT = 1
"""Version of the layout."""

MAX_BYTES = 16 * 1024 * 1024
"""Largest file that is read: more than the quotas of all namespaces."""

Alteration = dict[str, Any]
"""What is set for one entity: `entity` and `values`, as the API takes them."""


class QuotaFileError(Exception):
    """The file cannot be read, or is no file of quotas; the text says why."""


def read_quota_file(file: Path) -> dict[str, list[Alteration]]:
    """Return the alterations of a file by namespace, in its order.

    Raises:
        QuotaFileError: see there.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise QuotaFileError(f"{file}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise QuotaFileError(f"{file}: has more than {MAX_BYTES} bytes")
    try:
        document = json.loads(content)
    except ValueError as error:
        raise QuotaFileError(f"{file}: is no JSON: {error}") from None
    found = document.get("quotas_format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise QuotaFileError(
            f"{file}: is no file of quotas of this version: quotas_format is {found!r}, and has to be {FORMAT}"
        )
    alterations = document.get("alterations")
    if not isinstance(alterations, list):
        raise QuotaFileError(f"{file}: alterations is no list")
    by_namespace: dict[str, list[Alteration]] = {}
    for number, one in enumerate(alterations):
        namespace, alteration = _read(f"{file}: alterations[{number}]", one)
        by_namespace.setdefault(namespace, []).append(alteration)
    return by_namespace


def _read(where: str, one: Any) -> tuple[str, Alteration]:
    if not isinstance(one, dict) or not isinstance(one.get("namespace"), str) or not one["namespace"]:
        raise QuotaFileError(f"{where}: names no namespace")
    entity, values = one.get("entity"), one.get("values")
    if not isinstance(entity, dict) or not all(isinstance(name, str | None) for name in entity.values()):
        raise QuotaFileError(f"{where}: entity has to be like {{'user': 'bob'}} or {{'namespace': null}}")
    if not isinstance(values, dict) or not all(_is_rate(value) for value in values.values()):
        raise QuotaFileError(f"{where}: values has to be like {{'producer_byte_rate': 1048576}}")
    return one["namespace"], {"entity": entity, "values": values}


def _is_rate(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
