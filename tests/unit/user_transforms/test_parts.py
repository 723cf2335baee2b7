import pytest

from bifrost.confined.frames import BrokenFrame, Frame
from bifrost.user_transforms.parts import PARTS, parts_of


def test_a_batch_has_all_parts() -> None:
    head = {"sizes": [2], "places": [0, *[-1] * (len(PARTS) - 1)]}

    found = parts_of(Frame(head, memoryview(b"ab")))

    assert found == [b"ab", *[None] * (len(PARTS) - 1)]


@pytest.mark.parametrize("places", [[], [0], [-1] * (len(PARTS) + 1)])
def test_a_message_with_other_parts_has_no_batch(places: list[int]) -> None:
    with pytest.raises(BrokenFrame):
        parts_of(Frame({"sizes": [2], "places": places}, memoryview(b"ab")))
