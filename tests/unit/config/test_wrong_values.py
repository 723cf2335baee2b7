"""Every place of a configuration with every kind of wrong value: the messages are for operators."""

import copy
import datetime
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from bifrost.config.explain import explain
from bifrost.config.loc import Loc
from bifrost.config.model import Config
from bifrost.pipeline.billing.price_book import PriceBook

EXAMPLES = Path(__file__).parents[3] / "examples"
WRONG: tuple[Any, ...] = (
    *("text", "", "5 parsecs", "10KB", "\x07", -1, 0, 10**30, 1.5, float("nan"), float("inf"), True, False),
    *([], [1], [None], ["a", "a"], [{}], {}, {"x": 1}, {1: 2}, datetime.date(2020, 1, 31)),
)
EVERY = int(os.environ.get("BIFROST_EVERY_VALUE", "3"))
"""Each place gets every third of the wrong values, a place beside it others; 1: all, which takes three times as long
(`make proof`)."""
PYDANTIC = re.compile(
    r"Input should|should be a valid|should match|pydantic|https://errors|type=|input_value|Value error|"
    r"Extra inputs|Field required|instance of|discriminator|unable to|validation error|at least \d+ item|\btag",
    re.IGNORECASE,
)
"""Words of pydantic's own messages."""


def places(value: object, loc: Loc = ()) -> Iterator[Loc]:
    if loc:
        yield loc
    if isinstance(value, dict):
        for key, content in value.items():
            yield from places(content, (*loc, key))
    elif isinstance(value, list):
        for index, content in enumerate(value):
            yield from places(content, (*loc, index))


def wrong_for(loc: Loc) -> tuple[Any, ...]:
    """Return the wrong values that a place gets; they stay the same when other places are added."""
    return WRONG[zlib.crc32(repr(loc).encode()) % EVERY :: EVERY]


def put(data: Any, loc: Loc, value: object) -> Any:
    changed = copy.deepcopy(data)
    section = changed
    for step in loc[:-1]:
        section = section[step]
    section[loc[-1]] = value
    return changed


@pytest.mark.parametrize(
    ("name", "model"), [("every-setting.yaml", Config), ("price-book.yaml", PriceBook)], ids=str
)
def test_no_message_has_pydantics_own_words(name: str, model: Any) -> None:
    data = yaml.safe_load((EXAMPLES / name).read_text())
    said: set[str] = set()
    for loc in places(data):
        for wrong in wrong_for(loc):
            changed = put(data, loc, wrong)
            try:
                model.model_validate(changed)
            except ValidationError as error:
                said.update(text for _, text in explain(error, changed, model))

    assert len(said) > 50
    assert sorted(text for text in said if PYDANTIC.search(text)) == []
    assert sorted(text for text in said if "is not possible here" in text) == [], "say what is expected"


def test_a_word_that_is_not_among_those_possible_is_told_what_is() -> None:
    changed = {"proxy": {"listener_sets": [{"name": "a", "port_range": {}, "proxy_protocol": True}]}}
    with pytest.raises(ValidationError) as caught:
        Config.model_validate(changed)

    assert (
        "proxy.listener_sets[0].proxy_protocol: expected off, allowed or required, "
        "found the truth value true (YAML reads yes, no, on and off as one)"
    ) in [text for _, text in explain(caught.value, changed, Config)]
