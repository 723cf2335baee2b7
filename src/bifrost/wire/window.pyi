"""Memory that is handed out: see window.pyx."""

def keep(frame: bytes | memoryview) -> bytes | memoryview:
    """Return the frame, or a copy of it if its memory will receive other frames."""
