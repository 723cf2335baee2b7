"""Memory that is handed out: see window.pyx."""

def keep(frame: bytes | memoryview) -> bytes | memoryview:
    """Return the frame, or a copy of it if its memory will receive other frames."""

def owner_of(frame: bytes | memoryview) -> object | None:
    """Return what keeps the memory of a window alive; None: it is no window."""
