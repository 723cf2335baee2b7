"""What a feature makes of the records of its kind: a pure model, which a follower keeps up to date (gateway/state)."""

from typing import Protocol, runtime_checkable

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord


class StateModel(Protocol):
    """What a feature knows by the state."""

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what is stored under a key from now on.

        Keys come in no order, a key may come twice, and a version may be skipped. It takes a constant time, some
        microseconds.

        Args:
            key: a key of the model's kind.
            record: its newest record; None: nothing is stored, or it was deleted.
        Raises:
            ValueError: the record cannot be understood. The model stays as it was, and the gateway is not ready until
                the record is another one.
        """


@runtime_checkable
class TellingModel(StateModel, Protocol):
    """A model that tells others what has changed: not for each record, of which a large change has many."""

    def tell(self) -> None:
        """Tell what the records have changed that were applied since it was last called.

        It is called in the same turn of the event loop, so nothing is decided in between.
        """
