"""The base class of all sections of the configuration file."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of every section of the file: no unknown keys, no change, no value in an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
