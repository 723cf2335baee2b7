"""What can go wrong in a job, each as one line that a person can act on.

The command line prints `str(error)` and nothing else; a message names what failed and how to mend it.
"""


class PipelineError(Exception):
    """A job cannot start or go on; the message is one line."""


class FutureSchemaError(PipelineError):
    """The journal has a record of a schema version that this release does not know: nothing of its batch was
    counted.
    """


class StoreError(PipelineError):
    """The tables are not as this job left them, or another job writes them too."""
