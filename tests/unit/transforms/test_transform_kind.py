from bifrost.config.records.record_filter import FilterName
from bifrost.transforms.transform_kind import TransformKind, kind_of


def test_every_filter_of_the_configuration_has_its_kind() -> None:
    for name in FilterName:
        kind = kind_of(name)
        assert isinstance(kind, TransformKind)
        assert kind.directions
