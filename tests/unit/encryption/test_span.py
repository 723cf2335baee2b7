import pytest

from bifrost.encryption.span import Span


@pytest.mark.parametrize("is_writable", [False, True])
def test_a_span_without_memory_gives_none(is_writable: bool) -> None:
    span = Span(is_writable=is_writable)

    assert len(span) == 0
    with pytest.raises(BufferError, match="has no memory"):
        memoryview(span)
