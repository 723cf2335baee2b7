"""What every section of the configuration file has in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """What every section of the file has in common: no unknown keys, no change, no value in an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
