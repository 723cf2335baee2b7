"""A value of a topic config, in the one form in which it is compared with what a broker says.

A broker tells values as it has read them: `+60000` is `60000`, `TRUE` is `true`. What the configuration and admins give
is brought into that form when it is read.
"""

from typing import Annotated

from pydantic import Field, PlainValidator

from bifrost.config.policies.config_table import TOPIC_CONFIGS, Kind

MAX_LENGTH = 1000
"""Longest value, in characters: Kafka's own are much shorter, and each is kept in every process."""

WHOLE = (Kind.NUMBER, Kind.SIZE, Kind.DURATION)


def read_value(value: object) -> str:
    """Read a value as text; a number or a truth value is written as Kafka writes it.

    Raises:
        ValueError: it is none of these, or too long.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str) or len(value) > MAX_LENGTH:
        raise ValueError(f"expected a text of at most {MAX_LENGTH} characters, a number or a truth value")
    return value.strip()


_Text = Annotated[str, Field(max_length=MAX_LENGTH)]
ConfigValue = Annotated[str, PlainValidator(read_value, json_schema_input_type=_Text | int | float | bool)]


def canonical(name: str, value: str) -> str:
    """Return a value of a topic config as a broker tells it.

    Raises:
        ValueError: Kafka has no such config, or this is no value of it.
    """
    decision = TOPIC_CONFIGS.get(name)
    if decision is None:
        raise ValueError(
            f"Kafka has no topic config {name[:100]} that is known here: see docs/config-policy.md"
        )
    text = value.strip()
    try:
        if decision.kind in WHOLE:
            return str(int(text))
        if decision.kind is Kind.RATIO:
            return str(float(text))
    except ValueError:
        raise ValueError(f"{name} is a number, and {text[:100]!r} is none") from None
    if decision.kind is Kind.LIST:
        return ",".join(one.strip() for one in text.split(","))
    return text.lower() if text.lower() in ("true", "false") else text
