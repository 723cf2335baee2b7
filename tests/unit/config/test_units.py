import pytest

from bifrost.config.units import read_duration_ms, read_size_bytes


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [
        (0, 0),
        (-1, -1),  # the bounds are the setting's
        (104857600, 104857600),
        ("512KiB", 524288),
        ("512 KiB", 524288),
        ("1.5MiB", 1572864),
        ("2GiB", 2147483648),
        ("17B", 17),
        ("0.5KiB", 512),
    ],
)
def test_sizes(value: object, size_bytes: int) -> None:
    assert read_size_bytes(value) == size_bytes


@pytest.mark.parametrize(
    ("value", "duration_ms"),
    [(250, 250), ("10s", 10_000), ("0.25 s", 250), ("5min", 300_000), ("1h", 3_600_000), ("7ms", 7)],
)
def test_durations(value: object, duration_ms: int) -> None:
    assert read_duration_ms(value) == duration_ms


@pytest.mark.parametrize(
    "value", ["512", "KiB", "", "-1KiB", "1e3B", "1,5MiB", "1 2KiB", "9" * 40 + "B", None, 1.5, True, [1]]
)
def test_what_is_no_size_is_answered_with_the_form(value: object) -> None:
    with pytest.raises(
        ValueError, match=r"^write a whole number of bytes, or a number with one of B, KiB, MiB, GiB"
    ):
        read_size_bytes(value)


@pytest.mark.parametrize("value", ["512KB", "512kib", "1m", "1M"])
def test_a_unit_with_two_meanings_is_unknown(value: str) -> None:
    with pytest.raises(
        ValueError, match=rf"^unknown unit {value.lstrip('0123456789')}; write a whole number"
    ):
        read_size_bytes(value)
    with pytest.raises(ValueError, match=r"^unknown unit "):
        read_duration_ms(value)


def test_a_fraction_of_the_smallest_unit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^0.3B is not a whole number of bytes"):
        read_size_bytes("0.3B")
    with pytest.raises(ValueError, match=r"^1.0001s is not a whole number of milliseconds"):
        read_duration_ms("1.0001s")
