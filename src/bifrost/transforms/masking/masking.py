"""Masking: hides fields of JSON values from consumers, other than those that may see everything."""

import hmac
import json

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.config.records.masking_config import ANY, MaskAction, MaskedField, UnreadableValue, split_path
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.masking.json_masker import NOTHING, NUMBER, TEXT, JsonMasker, mask_values
from bifrost.transforms.record_transform import Direction, Known, Outcome, Rejected
from bifrost.transforms.transform_kind import Topic, TransformKind
from bifrost.wire.error_codes import ErrorCode

_LAST = 4
_HIDDEN = "****"
"""Before the last four characters, as many as there may be: the length of the value is not told."""


class Masking:
    """Puts something else in the place of fields."""

    def __init__(self, name: str, config: FilterConfig) -> None:
        """Prepare what `config` says; `name` is what the operator knows the transform by."""
        self._name = name
        self._fields = config.fields
        # The key is in the memory of the process with the configuration; no one but `hmac` gets it.
        self._key = b"" if config.hash_key is None else config.hash_key.reveal()
        self._is_error = config.unreadable is UnreadableValue.ERROR
        self._masker = JsonMasker([_names(one) for one in config.fields], self._mask)

    @property
    def name(self) -> str:
        """What the operator knows it by."""
        return self._name

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Return the records with masked values; see `RecordTransform`."""
        masked, unreadable = mask_values(columns, self._masker, budget)
        if unreadable and self._is_error:
            offset = batch.base_offset + columns.offset_deltas[unreadable[0]]
            reason = f"{self._name}: the value at offset {offset} is no JSON"
            return Rejected((), reason, ErrorCode.CORRUPT_MESSAGE)
        return masked

    def _mask(self, path: int, kind: int, content: bytes) -> bytes:
        """Return the JSON in place of a field; see `JsonMasker`."""
        field = self._fields[path]
        if field.action is MaskAction.CONSTANT:
            assert field.value is not None
            return field.value.encode()
        if kind == NOTHING or field.action is MaskAction.SET_NULL:
            return b"null"
        if field.action is MaskAction.HASH:
            # A text has one hash, however its characters are written.
            text = json.loads(content).encode("utf-8", "surrogatepass") if kind == TEXT else content
            return b'"%s"' % hmac.digest(self._key, text, "sha256").hex().encode()
        return _last_four(kind, content)


def _last_four(kind: int, content: bytes) -> bytes:
    """Return the last four characters of a text or number, of short ones no more than half; else null."""
    if kind not in (TEXT, NUMBER):
        return b"null"
    text = json.loads(content) if kind == TEXT else content.decode()
    shown = min(_LAST, len(text) // 2)
    return json.dumps(_HIDDEN + text[len(text) - shown :]).encode()


def _names(field: MaskedField) -> tuple[list[bytes | None], bool]:
    names, of_elements = split_path(field.path)
    return [None if name == ANY else name.encode() for name in names], of_elements


def _make(name: str, config: FilterConfig, topic: Topic) -> Masking:
    return Masking(name, config)


KIND = TransformKind(
    frozenset({Direction.FETCH}), _make, is_exempt=lambda config, user: user in config.unmasked
)
