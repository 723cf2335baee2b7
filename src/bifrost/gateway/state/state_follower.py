"""Keeps a feature's pure model up to date with the records of its kind.

    StateReader ──a transaction──▶ StateTable ──watchers──▶ StateFollower ──apply, some at a time──▶ StateModel

A feature that keeps something in the state has

* a kind of its own, and the layout of its records' bodies;
* a pure model (`StateModel`) below the gateway, which filters and the engine ask;
* one line in `GatewayState`, which makes the follower.

The follower gives the model what is stored under each changed key, as the table has it then. The first step is made
before the reader goes on, so a small change is in all models of a process before its writer hears that it is done. Of a
large one, and of what is read at the start or anew, the rest is applied in further steps, between which the event loop
serves connections; a gateway accepts no client before all models have all, and its steps are long until then. So a
model may have a part of a large change for a moment; the table never has.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter

import structlog

from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.steps import STEP_S
from bifrost.state.state_key import StateKey
from bifrost.state.state_model import StateModel, TellingModel
from bifrost.state.state_table import StateTable

log = structlog.get_logger()

FIRST_STEP_S = 0.02
"""A step while no client waits for its turn: so long at most the process answers nothing, its own health included."""


class StateFollower:
    """Follows one kind of records."""

    def __init__(self, table: StateTable, kind: str, model: StateModel) -> None:
        """Follow all changes of `kind` from now on."""
        self._table, self._model = table, model
        self.step_s = STEP_S
        """Work for so long, then others have their turn."""
        self._tell = model.tell if isinstance(model, TellingModel) else None
        self._waiting: dict[StateKey, None] = {}
        self._refused: dict[StateKey, str] = {}
        self._has_next_step = False
        self._settled = asyncio.Event()
        self._settled.set()
        table.watch(kind, self._note)

    @property
    def is_current(self) -> bool:
        """Whether the model has understood all records that it was given."""
        return not self._refused

    async def settle(self) -> None:
        """Wait until the model has all that the table has."""
        await self._settled.wait()

    def _note(self, keys: Sequence[StateKey]) -> None:
        self._waiting.update(dict.fromkeys(keys))
        self._settled.clear()
        if not self._has_next_step:
            self._step()

    def _step(self) -> None:
        """Apply as much as fits into one turn of the event loop."""
        until_s, waiting, self._has_next_step = perf_counter() + self.step_s, self._waiting, False
        get, apply, refused = self._table.get, self._model.apply, self._refused
        while waiting:
            key = waiting.popitem()[0]
            try:
                apply(key, get(key))
            except ValueError as error:
                self._refuse(key, str(error))
            except Exception as error:
                report("state_follower", error, key=str(key))
                self._refuse(key, type(error).__name__)
            else:
                if refused:
                    refused.pop(key, None)
            if perf_counter() >= until_s:
                break
        try:
            if self._tell is not None:
                self._tell()
        except Exception as error:  # The records are in the model, and those who wait for them may go on.
            report("state_follower", error)
        if waiting:
            self._has_next_step = True
            asyncio.get_running_loop().call_soon(self._step)
        else:
            self._settled.set()

    def _refuse(self, key: StateKey, why: str) -> None:
        """Note that the model has not understood a record."""
        if self._refused.get(key) != why:
            log.error("state_unreadable", key=str(key), error=why)
        self._refused[key] = why
