"""The physical cluster behind the gateway: the section `upstream`."""

from pydantic import Field

from bifrost.config.clashes import DEFAULT_UPSTREAM
from bifrost.config.section import Section
from bifrost.config.values import BrokerAddress, Name


class Upstream(Section):
    """The physical cluster behind the gateway."""

    name: Name = DEFAULT_UPSTREAM
    """What tenants and logs call it: letters, digits, `.`, `_` and `-`, at most 64. Default `upstream`, which suits
    while there is one only; under `upstreams` each has a name of its own."""

    bootstrap: tuple[BrokerAddress, ...] = Field(
        min_length=1, max_length=64, examples=['["kafka-1.internal:9092"]']
    )
    """Brokers to ask first, each `host:port`, 1 to 64; all others are discovered. Name at least two, so that
    one may be down when the gateway starts. Required."""
