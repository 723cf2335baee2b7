"""Sets of sequence numbers, by gateway and epoch: whether a record came before is a question of one bit.

Each 64 numbers are the bits of one word, so a million numbers that follow each other take 16,000 words.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bifrost.pipeline.metering.metered_tables import KEYS

SCHEMA = pa.schema(
    [("gateway_id", pa.string()), ("epoch", pa.int64()), ("word", pa.int64()), ("bits", pa.uint64())]
)
MAX_RANGES = 100
"""Up to so many gateways and epochs, each has a condition of its own when the tables are read."""

Source = tuple[str, int]
"""A gateway's ID and its epoch."""


class SequenceSets:
    """Numbers that were seen."""

    def __init__(self) -> None:
        self._numbers: dict[Source, list[NDArray[np.int64]]] = {}
        self._words: dict[Source, list[tuple[NDArray[np.int64], NDArray[np.uint64]]]] = {}
        self._is_merged = False
        self.has_repeats = False
        """Whether a number was added twice; known after `merge`. Words do not tell it: one who adds them sets it."""

    def add(self, rows: pa.Table) -> None:
        """Add the numbers of some records.

        Args:
            rows: has the columns `KEYS`, the first one as a dictionary or as text.
        """
        self._is_merged = False
        for source, numbers in split_by_source(rows):
            self._numbers.setdefault(source, []).append(numbers)

    def add_words(self, words: pa.Table) -> None:
        """Add what `to_table` of another set gave."""
        self._is_merged = False
        columns = [words[name].to_numpy() for name in ("epoch", "word", "bits")]
        gateways = words["gateway_id"].dictionary_encode().combine_chunks()
        codes = gateways.indices.to_numpy()
        for begin, end in _runs(codes, columns[0]):
            source = (str(gateways.dictionary[int(codes[begin])]), int(columns[0][begin]))
            self._words.setdefault(source, []).append((columns[1][begin:end], columns[2][begin:end]))

    def merge(self) -> dict[Source, tuple[NDArray[np.int64], NDArray[np.uint64]]]:
        """Return the words of each source, in their order, with their bits."""
        for source, numbers in self._numbers.items():
            self._words.setdefault(source, []).extend(_words_of(one) for one in numbers)
        self._numbers.clear()
        for source, parts in () if self._is_merged else self._words.items():
            words, bits = (np.concatenate(one) for one in zip(*parts, strict=True))
            order = np.argsort(words, kind="stable")
            words, bits = words[order], bits[order]
            begins = np.flatnonzero(np.diff(words, prepend=words[0] - 1))
            merged = np.bitwise_or.reduceat(bits, begins)
            self.has_repeats |= int(np.bitwise_count(bits).sum()) != int(np.bitwise_count(merged).sum())
            self._words[source] = [(words[begins], merged)]
        self._is_merged = True
        return {source: parts[0] for source, parts in self._words.items()}

    def to_table(self) -> pa.Table:
        """Return the words with their bits."""
        merged = self.merge()
        tables = [
            pa.table([[gateway] * len(words), [epoch] * len(words), words, bits], schema=SCHEMA)
            for (gateway, epoch), (words, bits) in merged.items()
        ]
        return pa.concat_tables(tables) if tables else SCHEMA.empty_table()

    def meets(self, rows: pa.Table) -> bool:
        """Return whether one of some records is in the set."""
        merged = self.merge()
        for source, numbers in split_by_source(rows):
            if source in merged:
                words, bits = merged[source]
                place = np.minimum(np.searchsorted(words, numbers >> 6), len(words) - 1)
                is_set = (bits[place] >> (numbers & 63).astype(np.uint64)) & np.uint64(1)
                if ((words[place] == numbers >> 6) & is_set.astype(bool)).any():
                    return True
        return False

    def reach(self) -> pc.Expression | None:
        """Return the condition that a table's record meets if it is in the set, or is near it.

        None: there are too many gateways and epochs.
        """
        merged = self.merge()
        if len(merged) > MAX_RANGES:
            return None
        reach = pc.scalar(False)
        gateway, epoch, sequence = (pc.field(name) for name in KEYS)
        for source, (words, _bits) in merged.items():
            least, most = int(words[0]) << 6, (int(words[-1]) << 6) + 63
            is_near = (sequence >= least) & (sequence <= most)
            reach |= (gateway == source[0]) & (epoch == source[1]) & is_near
        return reach


def _words_of(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return a word for each number: those of one page are merged later."""
    return numbers >> 6, np.uint64(1) << (numbers & 63).astype(np.uint64)


def split_by_source(rows: pa.Table) -> list[tuple[Source, NDArray[np.int64]]]:
    """Return the sequence numbers of some records by gateway and epoch."""
    if not rows.num_rows:
        return []
    named = rows["gateway_id"]
    if not pa.types.is_dictionary(named.type):
        named = named.dictionary_encode()
    gateways = named.unify_dictionaries().combine_chunks()
    codes, epochs, numbers = (
        gateways.indices.to_numpy(),
        rows["epoch"].to_numpy(),
        rows["sequence"].to_numpy(),
    )
    order = np.lexsort((epochs, codes))
    codes, epochs, numbers = codes[order], epochs[order], numbers[order]
    return [
        ((str(gateways.dictionary[int(codes[begin])]), int(epochs[begin])), numbers[begin:end])
        for begin, end in _runs(codes, epochs)
    ]


def _runs(codes: NDArray[Any], epochs: NDArray[Any]) -> list[tuple[int, int]]:
    """Return where runs of equal sources begin and end."""
    if not len(codes):
        return []
    is_new = (np.diff(codes) != 0) | (np.diff(epochs) != 0)
    bounds = [0, *(int(one) + 1 for one in np.flatnonzero(is_new)), len(codes)]
    return list(pairwise(bounds))
