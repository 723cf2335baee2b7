"""A transform for the filter PythonTransform (docs/transforms.md): writes countries in capitals, and notes where.

Try: bifrost transform test examples/transform.py --records examples/transform-records.json
"""

import json

import pyarrow as pa


def transform(batch, context):
    """Return the batch with changed values; the number and the order of records stay."""
    values = [changed(value) for value in batch.column("value").to_pylist()]
    headers = [
        [*one, {"key": "passed", "value": f"{context.direction} of {context.topic}".encode()}]
        for one in batch.column("headers").to_pylist()
    ]
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["value"] = pa.array(values, batch.schema.field("value").type)
    columns["headers"] = pa.array(headers, batch.schema.field("headers").type)
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=batch.schema)


def changed(value):
    """Return a JSON object with its country in capitals; a tombstone, and what is no JSON, as it is."""
    try:
        found = json.loads(value or b"null")
    except ValueError:
        return value
    if not isinstance(found, dict) or not isinstance(found.get("country"), str):
        return value
    return json.dumps(found | {"country": found["country"].upper()}).encode()
