from bifrost.tenancy.virtual_partitions.own_producer import LAST_EPOCH, OwnProducer


def test_each_batch_has_an_epoch_of_its_own() -> None:
    producer = OwnProducer()
    assert not producer.has_epochs(1)

    producer.begin(4000)
    assert producer.has_epochs(3)
    assert [producer.take_epoch() for _ in range(3)] == [0, 1, 2]


def test_no_epoch_is_beyond_what_a_broker_takes() -> None:
    producer = OwnProducer()
    producer.begin(1)
    assert producer.has_epochs(LAST_EPOCH + 1)
    assert not producer.has_epochs(LAST_EPOCH + 2)

    epochs = [producer.take_epoch() for _ in range(LAST_EPOCH + 1)]
    assert epochs[-1] == LAST_EPOCH == 2**15 - 2
    assert not producer.has_epochs(1)

    producer.begin(2)
    assert (producer.producer_id, producer.take_epoch()) == (2, 0)
