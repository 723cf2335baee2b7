"""Java's `String.hashCode`: see java_hash.pyx."""

def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`, without its sign."""
