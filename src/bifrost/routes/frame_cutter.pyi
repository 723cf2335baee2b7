"""Types and contract of the frame cutter; see frame_cutter.pyx."""

Buffer = bytes | memoryview

def cut_frames(segments: list[Buffer]) -> list[list[Buffer]]:
    """Divide whole frames, which lie in segments one behind the other, into the segments of each.

    Raises:
        ValueError: the last frame is not whole.
    """
