import pytest

from bifrost.config.name_template import (
    MAX_TENANT_NAME_LENGTH,
    MAX_TOPIC_NAME_LENGTH,
    NameTemplate,
    fold,
)


def test_the_default_prefix() -> None:
    assert NameTemplate().prefix("acme") == "__vt_acme_"
    assert MAX_TOPIC_NAME_LENGTH - len(NameTemplate().prefix("x" * MAX_TENANT_NAME_LENGTH)) == 179


@pytest.mark.parametrize(
    "text",
    [
        "{tenant}",
        "{name}",
        "{name}-{tenant}",
        "{tenant}-{name}!",
        "{tenant}{tenant}{name}",
        "{name}{tenant}{name}",
    ],
)
def test_a_template_that_cannot_be_reversed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a name template"):
        NameTemplate(text)


def test_another_template() -> None:
    assert NameTemplate("{tenant}-{name}").prefix("t1") == "t1-"


def test_dots_and_underscores_fold() -> None:
    assert fold("a.b_c-d") == "a_b_c-d"
