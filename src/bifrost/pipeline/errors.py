"""The errors of a job, each with one line that an operator can act on.

The command line prints `str(error)` and nothing else; a message names what failed and how to fix it.
"""


class PipelineError(Exception):
    """A job cannot start or go on; the message is one line."""


class FutureSchemaError(PipelineError):
    """The journal has a record of a schema version that this release does not know: nothing of its batch was
    counted.
    """


class StoreError(PipelineError):
    """The tables changed since this job's last commit, or another job writes them too."""
