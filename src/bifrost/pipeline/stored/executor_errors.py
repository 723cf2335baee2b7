"""Errors that a task met, told as a job tells its own: in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from bifrost.pipeline.errors import PipelineError

_OWN = re.compile(r"^bifrost\.[\w.]+\.(\w+): (.+)$", re.MULTILINE)
_MISSING = re.compile(
    r"^ModuleNotFoundError: No module named '(bifrost[\w.]*|cryptography|cramjam)'", re.MULTILINE
)


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Raise what a task raised as a PipelineError.

    Raises:
        PipelineError: a task failed; the text is that of Bifrost's own error where it raised one.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        raise PipelineError(task_error(str(error))) from error


def task_error(trace: str) -> str:
    """Return the line of a trace that says why a task failed."""
    missing = _MISSING.search(trace)
    if missing is not None:
        return f"the executors' Python has no {missing[1]}: give them the environment (docs/pipeline.md)"
    own = _OWN.findall(trace)
    if own:
        return str(own[-1][1])
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    return f"a task failed: {lines[0] if lines else 'no reason given'}"
