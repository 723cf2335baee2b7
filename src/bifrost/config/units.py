"""Sizes and durations as people write them: `512KiB`, `10s`.

A plain whole number has the unit of the setting's own name (`..._bytes`, `..._ms`), as in Kafka's own configuration.
Only units with one meaning are accepted: `KB` means 1000 or 1024, so it is refused.
"""

import re

BYTES_PER_UNIT = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
MS_PER_UNIT = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}

# Twelve digits hold every useful value (a terabyte in bytes, 30 years in ms).
_QUANTITY = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?([A-Za-z]{1,8})")


def read_size_bytes(value: object) -> int:
    """Read a size: a whole number of bytes, or a text such as `512KiB`.

    Returns:
        The size in bytes.
    Raises:
        ValueError: it is neither, or not a whole number of bytes.
    """
    return _read_quantity(value, BYTES_PER_UNIT, unit_name="bytes", example="512KiB")


def read_duration_ms(value: object) -> int:
    """Read a duration: a whole number of milliseconds, or a text such as `10s`.

    Returns:
        The duration in milliseconds.
    Raises:
        ValueError: it is neither, or not a whole number of milliseconds.
    """
    return _read_quantity(value, MS_PER_UNIT, unit_name="milliseconds", example="10s")


def _read_quantity(value: object, units: dict[str, int], *, unit_name: str, example: str) -> int:
    known = ", ".join(units)
    expected = f"write a whole number of {unit_name}, or a number with one of {known}, e.g. {example}"
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise ValueError(expected)
    match = _QUANTITY.fullmatch(value.strip())
    if match is None:
        raise ValueError(expected)
    number, unit = match.groups()
    if unit not in units:
        raise ValueError(f"unknown unit {unit}; {expected}")
    whole, _, fraction = number.partition(".")
    scale: int = 10 ** len(fraction)
    amount, rest = divmod(int(whole + fraction) * units[unit], scale)
    if rest:
        raise ValueError(f"{value} is not a whole number of {unit_name}; {expected}")
    return amount
