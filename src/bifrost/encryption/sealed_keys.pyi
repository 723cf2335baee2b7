"""Seals the keys of a batch's records, each to the same bytes every time, and opens them: see sealed_keys.pyx."""

from bifrost.encryption.topic_key import TopicKey
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget

def seal_keys(columns: Columns, binding: bytes, topic_key: TopicKey, budget: MemoryBudget) -> Columns:
    """Return the records with every key sealed that is not null.

    Args:
        columns: the records.
        binding: of their place.
        topic_key: what seals the keys of the topic.
        budget: what the sealed keys are taken from.
    Raises:
        TooLarge, NoRoom: they come to more than the budget has.
    """

def open_keys(
    columns: Columns,
    binding: bytes,
    topic_key: TopicKey,
    budget: MemoryBudget,
    *,
    accepts_plaintext: bool = False,
) -> Columns:
    """Return the records with their keys opened.

    Args:
        columns: the records as the broker has them.
        binding: of the place where they were found.
        topic_key: that of the topic.
        budget: what the keys are taken from.
        accepts_plaintext: whether keys that were not sealed pass.
    Raises:
        NotSealed: a key was not sealed.
        UnknownKek: it was sealed with another topic key.
        UnknownEnvelope: it was sealed in a way that is not known here.
        BrokenSeal: it was changed, or belongs to another place.
        TooLarge, NoRoom: they come to more than the budget has.
    """
