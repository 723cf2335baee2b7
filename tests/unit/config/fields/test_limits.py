import pytest
from pydantic import ValidationError

from bifrost.config.fields.limits import Limits


def test_every_limit_has_bounds_and_a_default_within_them() -> None:
    for name, field in Limits.model_fields.items():
        bounds = {
            type(bound).__name__: getattr(bound, type(bound).__name__.lower())
            for bound in field.metadata
            if type(bound).__name__ in ("Ge", "Le")
        }
        assert bounds["Ge"] <= field.default <= bounds["Le"], name
        for beyond in (bounds["Ge"] - 1, bounds["Le"] + 1):
            with pytest.raises(ValidationError, match=name):
                Limits.model_validate({name: beyond})
