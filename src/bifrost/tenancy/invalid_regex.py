"""The error for a refused pattern; not in topic_regex.py, which is only loaded for tenants that use patterns."""


class InvalidRegex(ValueError):
    """A regex that is not valid in RE2's syntax, or that Bifrost does not accept; the message says what and where."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        """Make the error for `reason`, at the character `offset` (from 0) or about the whole pattern."""
        super().__init__(reason if offset is None else f"{reason} at offset {offset}")
        self.reason = reason
        self.offset = offset
