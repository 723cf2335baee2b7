from bifrost.schemas.schema_key import (
    RegistrySettings,
    SchemaKey,
    SubjectStrategy,
    is_of_subject,
    subjects_of,
)


def key_of(strategy: SubjectStrategy, *, is_key: bool = False) -> SchemaKey:
    return SchemaKey(RegistrySettings("http://r"), 1, ("eu:orders", "orders"), is_key, strategy, False)


def test_subjects_follow_the_strategy() -> None:
    names = {"shop.Order"}

    assert subjects_of(key_of(SubjectStrategy.TOPIC), ()) == ["eu:orders-value", "orders-value"]
    assert subjects_of(key_of(SubjectStrategy.TOPIC, is_key=True), names) == ["eu:orders-key", "orders-key"]
    assert subjects_of(key_of(SubjectStrategy.RECORD), names) == ["shop.Order"]
    assert subjects_of(key_of(SubjectStrategy.TOPIC_RECORD), names) == [
        "eu:orders-shop.Order",
        "orders-shop.Order",
    ]
    assert subjects_of(key_of(SubjectStrategy.RECORD), ()) == []


def test_a_context_before_a_subject_does_not_count() -> None:
    assert is_of_subject({":.lab:orders-value"}, ["orders-value"])
    assert is_of_subject({"other", "orders-value"}, ["orders-value"])
    assert not is_of_subject({"eu:orders-value"}, ["orders-value"])
    assert not is_of_subject({"orders-value"}, [])


def test_equal_keys_have_one_answer() -> None:
    assert key_of(SubjectStrategy.TOPIC) == key_of(SubjectStrategy.TOPIC)
    assert hash(key_of(SubjectStrategy.TOPIC)) == hash(key_of(SubjectStrategy.TOPIC))
