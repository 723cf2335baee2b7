"""The base class of all sections of the configuration file."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of every section of the file: no unknown keys, no change, no value in an error."""

    # A section is read as a part of the whole file: to build validators of its own as well would take 0.5 MiB in all.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)
