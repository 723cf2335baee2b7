"""What a supervisor gives a worker: the configuration in force, secrets included, and the keys that all have in common.

A Secret is not pickled by accident (`config/secrets.py`). Here it is on purpose: a worker cannot load the configuration
itself, for what stands in the file may have been refused, or changed since. The bytes go to the gateway's own child
over a socket that only the two have, and are kept nowhere.
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
    """What goes with a configuration."""

    config: Config
    key: bytes
    """`Whole.key`."""
    places: Mapping[str, int]
    """Where each tenant is counted: `Places`."""
    epoch: int = 0
    """Of the journal, for a worker that begins: larger than that of any worker before it."""


def dumps(handover: Handover) -> bytes:
    """Return it as bytes, for a process of this gateway alone."""
    file = io.BytesIO()
    _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(handover)
    return file.getvalue()


def loads(content: bytes) -> Handover:
    """Return what the supervisor of this process has sent."""
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
    """Return the secret of a digest."""
    secret = Secret.__new__(Secret)
    object.__setattr__(secret, "_digest", digest)
    return secret
