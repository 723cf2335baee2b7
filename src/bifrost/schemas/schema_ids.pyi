"""Which schemas the records of a batch name: see schema_ids.pyx."""

from collections.abc import Container

from bifrost.records.codec.columns import Columns
from bifrost.schemas.wire_format import SchemaId

def find_schema_ids(columns: Columns, is_key: bool, most: int) -> set[SchemaId]:
    """Return the IDs that the keys or values of a batch name, NO_ID and TWO_IDS among them.

    Null names nothing. When more than `most` were found, the search ends.

    Raises:
        ValueError: the columns do not fit together.
    """

def find_records_with(
    columns: Columns, is_key: bool, ids: Container[SchemaId], most: int
) -> list[tuple[int, SchemaId]]:
    """Return the records whose key or value names one of these IDs, in their order, at most `most`.

    Raises:
        ValueError: the columns do not fit together.
    """
