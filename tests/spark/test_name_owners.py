"""Owners of physical names in frames: the same as those that the gateway's own rule finds."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bifrost.config.name_template import DEFAULT_TEMPLATE
from bifrost.pipeline.certificates.name_owners import ENTITIES, is_name_of, owners_of, prefix_frame
from bifrost.tenancy.ownership import NameOwners, OwnNames

PREFIXES = {"acme": "__vt_acme_", "acme-2": "__vt_acme-2_", "literal": "shop.", "below": "shop.eu."}
NAMES = [
    *(prefix + name for prefix in PREFIXES.values() for name in ("", "orders", "/secret", "__vt_acme_x")),
    *("__vt_acme", "__vt_", "shop", "orders", "x__vt_acme_orders", "__vt_globex_orders", "shop/eu.x"),
]


def test_owners_are_those_of_the_gateway(spark: SparkSession) -> None:
    others = {name: (prefix,) for name, prefix in PREFIXES.items() if not prefix.startswith("__vt_")}
    prefixes = prefix_frame(spark, list(PREFIXES), DEFAULT_TEMPLATE, (), others)
    owners = NameOwners((OwnNames(prefix.encode()), name) for name, prefix in PREFIXES.items())
    expected = {name: owners.owner_of(name.encode()) for name in NAMES}
    names = [(entity, name) for entity in ENTITIES for name in NAMES]

    found = owners_of(spark.createDataFrame(names, "entity STRING, physical STRING"), prefixes).collect()

    assert {(row.entity, row.physical): row.owner for row in found} == {
        (entity, name): expected[name] for entity, name in names if expected[name] is not None
    }
    assert len(found) > len(PREFIXES)


def test_a_prefix_of_topics_owns_no_groups(spark: SparkSession) -> None:
    told = [("acme", "topic", "a-"), ("acme", "group", "b-"), ("globex", "topic", "b-")]
    prefixes = prefix_frame(spark, ["acme", "globex"], DEFAULT_TEMPLATE, told, {})
    names = [("topic", "a-x"), ("group", "a-x"), ("topic", "b-x"), ("group", "b-x")]
    names += [("group", "__vt_globex_x"), ("topic", "__vt_globex_x"), ("transactional_id", "__vt_acme_x")]

    found = owners_of(spark.createDataFrame(names, "entity STRING, physical STRING"), prefixes).collect()

    assert {(row.entity, row.physical): row.owner for row in found} == {
        ("topic", "a-x"): "acme",
        ("topic", "b-x"): "globex",
        ("group", "b-x"): "acme",
        ("group", "__vt_globex_x"): "globex",
        ("transactional_id", "__vt_acme_x"): "acme",
    }


def test_a_physical_name_ends_in_the_virtual_one(spark: SparkSession) -> None:
    rows = [
        ("orders", "__vt_acme_orders"),
        ("orders", "__vt_acme_eu.orders"),
        ("orders", "__vt_acme_billing"),
        ("eu:orders", "__vt_acme_--eu.orders"),
        ("eu:team-a.b_c:orders", "__vt_acme_--eu.--team--a-db-uc.orders"),
        ("eu..orders", "__vt_acme_--eu.orders"),
        ("eu:my:group", "__vt_acme_--eu.my:group"),
        ("my:group", "__vt_acme_my:group"),
        ("eu:orders", "__vt_acme_--us.orders"),
        ("eu:orders", "__vt_acme_orders"),
    ]
    names = spark.createDataFrame(rows, "virtual STRING, physical STRING")

    found = names.select(is_name_of(F.col("virtual"), F.col("physical")).alias("fits")).collect()

    assert [row.fits for row in found] == [True, True, False, True, True, True, True, True, False, False]
