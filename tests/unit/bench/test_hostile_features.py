import json
from pathlib import Path
from typing import Any

from bench.hostile.arsenal import ATTACKS
from bench.hostile.arsenal.records import CODECS, bomb, bombs, packed, record_of
from bench.hostile.features import COMPACTED, DIVIDED, LISTED, LISTED_TOPICS, MASKED, SEALED, add_features

from bifrost.config.load import load
from bifrost.records.codec.client_batch import as_batch, read_columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.tenancy.virtual_partitions.tagged_batches import TransactionalBatch


def test_the_configuration_is_one_with_all_that_is_attacked(tmp_path: Path) -> None:
    (tmp_path / "attacker.password").write_text("secret")
    ports = {"bootstrap_port": 1000, "advertised_host": "localhost"}
    ports_of_all: dict[str, Any] = ports | {"broker_port_range": {"start": 1001, "end": 1003}}
    configuration: dict[str, Any] = {
        "proxy": {"listener_sets": [{"name": "plain", "port_range": ports_of_all}], "journal": {}},
        "upstream": {"bootstrap": ["localhost:9092"]},
        "tenants": [
            {
                "name": "attacker",
                "auth": {"credentials": [{"username": "attacker", "password_file": "attacker.password"}]},
            }
        ],
    }
    add_features(configuration, "attacker", tmp_path, 2000, 3000)
    file = tmp_path / "proxy.yaml"
    file.write_text(json.dumps(configuration))

    config = load(file, b"salt")

    own, listed = config.tenants
    assert own.acls is not None
    assert listed.name == LISTED
    assert listed.allowed_topics == LISTED_TOPICS
    assert own.allow_quota_changes
    assert own.auth.stored_users is not None
    assert [(one.topics, one.compacted) for one in own.virtual_partitions] == [
        ((DIVIDED,), False),
        ((COMPACTED,), True),
    ]
    assert [rule.topics for one in own.filters for rule in one.rules] == [(MASKED,), (SEALED,)]
    assert [one.single_address for one in config.proxy.listener_sets] == [False, True]
    assert config.proxy.control is not None
    assert config.proxy.control.port == 3000


def test_each_feature_is_attacked() -> None:
    featured = {name for name, one in ATTACKS.items() if one.has_features}

    beginnings = (
        *("acl-", "quota-", "user-", "admin-api-", "virtual-", "compacted-"),
        *("filtered-", "masked-", "sealed-", "listed-"),
    )
    for beginning in beginnings:
        assert any(name.startswith(beginning) for name in featured), beginning
    assert any(name.startswith("single-address-") for name in featured)


def test_a_bomb_is_a_batch_of_one_record_as_a_broker_takes_it() -> None:
    for codec in CODECS:
        content = packed(codec, record_of(100_000))
        plain = bomb(codec, content)
        in_transaction = bomb(codec, content, transaction=(7, 1, 5))

        (record,) = read_columns(as_batch(plain), MemoryBudget("batch", 1 << 20)).records()
        assert record.value == bytes(100_000)
        assert len(plain) < 5_000
        assert TransactionalBatch(in_transaction).number == (7, 1, 5, 1)


def test_there_is_a_bomb_of_each_codec() -> None:
    sizes = {
        name: len(read_columns(as_batch(batch), MemoryBudget("batch", 1 << 20)).records()[0].value or b"")
        for name, batch in bombs(100_000, 50_000).items()
    }

    assert sizes == {"gzip": 100_000, "snappy": 50_000, "lz4": 100_000, "zstd": 100_000}
