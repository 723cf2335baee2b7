"""A large state in a topic of a real Kafka."""

from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.state_scale.state_log import IN_A_CHANGE, Size, log_records
from bifrost.config.fields.state import State
from bifrost.gateway.state.state_topic import state_topic_settings

TIMEOUT_S = 120.0
IN_QUEUE = 100_000


def store(bootstrap: str, topic: str, size: Size) -> None:
    """Create a topic as a gateway does, and write a state into it: a batch for each change.

    The batches are in no transactions, so the log has no markers; a reader takes each as one.
    """
    settings = state_topic_settings(State(topic=topic))
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(topic, 1, 1, config=settings.configs)
    admin.create_topics([new])[topic].result(TIMEOUT_S)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": "gzip",
            "compression.level": 1,
            "batch.num.messages": IN_A_CHANGE,
            "linger.ms": 50,
            "enable.idempotence": True,
            "queue.buffering.max.messages": IN_QUEUE,
        }
    )

    def check(error: KafkaError | None, _message: object) -> None:
        assert error is None, error

    for number, one in enumerate(log_records(size)):
        producer.produce(topic, one.value, one.key, 0, timestamp=one.timestamp_ms, on_delivery=check)
        if number % (IN_QUEUE // 2) == 0:
            producer.flush(TIMEOUT_S)
    assert producer.flush(TIMEOUT_S) == 0, "the broker takes no records"
