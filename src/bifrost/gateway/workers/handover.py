"""What a supervisor gives a worker: the configuration in force, with its secrets, and the key that all workers share.

A Secret is never pickled by accident (`config/secrets.py`). Here it is pickled on purpose: a worker cannot load the
configuration itself, as the file may have changed since, or been refused. The bytes go to the gateway's own child over
a socket that only the two processes have, and are stored nowhere.
"""

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bifrost.config.kept_secret import KeptSecret
from bifrost.config.model import Config
from bifrost.config.secrets import Secret


@dataclass(frozen=True, slots=True, repr=False)
class Handover:
    """A configuration and what goes with it."""

    config: Config
    key: bytes
    """`AlonePeers.key`, which all workers share."""
    places: Mapping[str, int]
    """The place where each tenant is counted: see `Places`."""
    epoch: int = 0
    """Epoch in the journal of a worker that starts: larger than that of any worker before it."""


def dumps(handover: Handover) -> bytes:
    """Return a handover as bytes, which only a process of this gateway may get."""
    file = io.BytesIO()
    _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(handover)
    return file.getvalue()


def loads(content: bytes) -> Handover:
    """Return the handover that this process's supervisor has sent as bytes."""
    found = pickle.loads(content)
    assert isinstance(found, Handover)
    return found


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, KeptSecret):
            return KeptSecret, (obj.reveal(),)
        if isinstance(obj, Secret):
            return _restored, (obj._digest,)
        return NotImplemented


def _restored(digest: bytes) -> Secret:
    """Return the secret with this digest."""
    secret = Secret.__new__(Secret)
    object.__setattr__(secret, "_digest", digest)
    return secret
