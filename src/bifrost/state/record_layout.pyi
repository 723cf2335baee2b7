"""Fields of a record of the state: see record_layout.pyx."""

def split_fields(value: bytes) -> tuple[int, int, str, bytes, bytes] | None:
    """Return the fields of a record that has the layout of `encode`; None: it has another, or is no record.

    What is returned is not checked any further: the author and the body may be no JSON.

    Args:
        value: the record's value in the topic.
    Returns:
        Its version; its time, in milliseconds since 1970; its change; its author, the fields `writer` and
        `on_behalf_of` as they stand there; its body, as it stands there.
    """
