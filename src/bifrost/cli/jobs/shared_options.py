"""Options that several commands have: declared once, read into one object."""

import functools
import inspect
from collections.abc import Callable
from typing import Any


def with_options(
    argument: str, read: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what declares options on a command, after its own.

    Args:
        argument: the parameter of the command that gets what `read` returns.
        read: its parameters, by keyword alone, are the options.
    """
    shared = inspect.signature(read).parameters

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        own = [one for name, one in signature.parameters.items() if name != argument]

        @functools.wraps(command)
        def read_and_run(**given: Any) -> None:
            options = read(**{name: given.pop(name) for name in shared})
            command(**given, **{argument: options})

        # Typer takes a command's options from its signature.
        read_and_run.__signature__ = signature.replace(parameters=[*own, *shared.values()])  # type: ignore[attr-defined]
        return read_and_run

    return decorate
