"""What is no longer needed is freed item by item, so that others need not wait for it."""

import pytest

from bifrost.wire.steps import let_go, set_pause, set_pause_steps


@pytest.mark.parametrize(
    "made", [lambda: [object() for _ in range(500)], lambda: {n: object() for n in range(500)}]
)
def test_a_container_is_emptied_with_pauses(made) -> None:  # type: ignore[no-untyped-def]
    items, sizes = made(), []
    set_pause_steps(100)
    set_pause(lambda: sizes.append(len(items)))
    try:
        let_go(items)
    finally:
        set_pause(None)
        set_pause_steps()

    assert not items
    assert len(sizes) in (4, 5)
    assert sizes == sorted(sizes, reverse=True)
