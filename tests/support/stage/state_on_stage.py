"""The shared state of a Stage: a table in memory, which changes as a writer of a gateway would change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bifrost.filters.steps import StateChange
from bifrost.records.batch_reader import LogRecord
from bifrost.session.close_reason import CloseReason
from bifrost.state.state_change import Author, Change, StateConflict, Unchanged
from bifrost.state.state_key import StateKey
from bifrost.state.state_model import StateModel
from bifrost.state.state_outcome import DONE, OutcomeKind, StateOutcome
from bifrost.state.state_record import TooLarge
from bifrost.state.state_table import StateLimits, StateTable
from support.stage.playbook import Playbook, Step
from support.stage.stage import Stage
from support.state_log import decided


class StateOnStage:
    """The state, and the models that follow it."""

    def __init__(self, stage: Stage, **models: StateModel) -> None:
        """Let the stage's sessions have a state; `models` by their kinds."""
        self.table = stage.shared.state = StateTable(StateLimits(10_000, 65_536, 2**28))
        self.changes = 0
        """How many were made."""
        self._offset = 0
        for kind, model in models.items():
            self.table.watch(kind, self._follow(model))

    def change(
        self, *changes: Change, on_behalf_of: str = "User:other", unchanged: Sequence[Unchanged] = ()
    ) -> None:
        """Change the state, as another gateway would."""
        records = decided(self.table, changes, unchanged, Author("w", on_behalf_of), 0, str(self._offset))
        log = [LogRecord(self._offset + n, *record) for n, record in enumerate(records)]
        self._offset += len(log)
        self.changes += 1
        changed, _ = self.table.apply(log)
        for call in self.table.calls(changed):
            call()

    def meet(self, need: StateChange) -> StateChange:
        """Do what the shell does with a change."""
        try:
            self.change(*need.changes, on_behalf_of=need.on_behalf_of, unchanged=need.unchanged)
        except StateConflict as conflict:
            return replace(need, outcome=StateOutcome(OutcomeKind.CONFLICT, str(conflict)))
        except TooLarge as error:
            return replace(need, outcome=StateOutcome(OutcomeKind.TOO_LARGE, str(error)))
        return replace(need, outcome=DONE)

    def writes(self) -> Step:
        """Let the shell write the change that the session waits for; see that the session waits for one."""
        return self._meets(self.meet)

    def fails(self, outcome: StateOutcome) -> Step:
        """Let the change that the session waits for fail."""
        return self._meets(lambda need: replace(need, outcome=outcome))

    def _meets(self, meet: Callable[[StateChange], StateChange]) -> Step:
        def step(book: Playbook) -> str:
            found = [need for need in book.session.needs if isinstance(need, StateChange)]
            if not found:
                book.said.fail("the session waits for no change of the state")
            met = meet(found[0])
            book.play(lambda: book.session.meet(met), CloseReason.MALFORMED)
            return f"the state: {[str(one.key) for one in met.changes]} {met.outcome}"

        return step

    def _follow(self, model: StateModel) -> Callable[[Sequence[StateKey]], None]:
        def follow(keys: Sequence[StateKey]) -> None:
            for key in keys:
                model.apply(key, self.table.get(key))

        return follow
