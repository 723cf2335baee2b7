"""A bill in FOCUS's columns, held against the specification's tables.

Source: FOCUS 1.2, the content constraints of each column; column handling, key-value format, unit format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from bifrost.pipeline.billing.corrections import correction_schema
from bifrost.pipeline.billing.focus import JSON_COLUMNS, schema_text, to_csv, to_focus
from bifrost.pipeline.billing.price_book import Sku, read_price_book
from bifrost.pipeline.billing.rating import charge_schema
from support.physical_names import physical_name

BOOK = read_price_book(
    'currency: EUR\nprovider: Us\nversions: [{version: "1", valid_from: 2026-10-01, prices: {}}]', "book"
)

STRING, DECIMAL, MOMENT, JSON = "string", "decimal", "timestamp", "JSON"
MANDATORY = {
    "BilledCost": (DECIMAL, False), "BillingAccountId": (STRING, False), "BillingAccountName": (STRING, True),
    "BillingCurrency": (STRING, False), "BillingPeriodEnd": (MOMENT, False), "BillingPeriodStart": (MOMENT, False),
    "ChargeCategory": (STRING, False), "ChargeClass": (STRING, True), "ChargeDescription": (STRING, True),
    "ChargePeriodEnd": (MOMENT, False), "ChargePeriodStart": (MOMENT, False), "ContractedCost": (DECIMAL, False),
    "EffectiveCost": (DECIMAL, False), "InvoiceIssuerName": (STRING, False), "ListCost": (DECIMAL, False),
    "PricingQuantity": (DECIMAL, True), "PricingUnit": (STRING, True), "ProviderName": (STRING, False),
    "PublisherName": (STRING, False), "ServiceCategory": (STRING, False), "ServiceName": (STRING, False),
}  # fmt: skip
RECOMMENDED = {
    "ChargeFrequency": (STRING, False), "InvoiceId": (STRING, True), "ServiceSubcategory": (STRING, False),
}  # fmt: skip
"""But AvailabilityZone: the gateway is told none."""
CONDITIONAL = {
    "BillingAccountType": (STRING, False), "SubAccountId": (STRING, True), "SubAccountName": (STRING, True),
    "SubAccountType": (STRING, True), "ConsumedQuantity": (DECIMAL, True), "ConsumedUnit": (STRING, True),
    "ContractedUnitPrice": (DECIMAL, True), "ListUnitPrice": (DECIMAL, True), "PricingCategory": (STRING, True),
    "ResourceId": (STRING, True), "ResourceName": (STRING, True), "ResourceType": (STRING, True),
    "SkuId": (STRING, True), "SkuMeter": (STRING, True), "SkuPriceDetails": (JSON, True), "SkuPriceId": (STRING, True),
    "Tags": (JSON, True),
}  # fmt: skip
"""Those whose condition holds: there are sub accounts, metered usage, list and contracted prices, topics, tags."""
FOCUS = MANDATORY | RECOMMENDED | CONDITIONAL
"""For each column its type, and whether FOCUS allows nulls in it."""
ALLOWED = {
    "ChargeCategory": {"Usage", "Purchase", "Tax", "Credit", "Adjustment"},
    "ChargeClass": {"Correction", None},
    "ChargeFrequency": {"One-Time", "Recurring", "Usage-Based"},
    "PricingCategory": {"Standard", "Dynamic", "Committed", "Other"},
    "ServiceCategory": {"Integration"},
    "ServiceSubcategory": {"API Management", "Messaging", "Workflow Orchestration", "Other (Integration)"},
}
"""The subcategories are those whose parent is Integration."""
NOT_NULL_BUT_IN_CORRECTIONS = (
    "PricingQuantity", "ConsumedQuantity", "ListUnitPrice", "ContractedUnitPrice", "PricingCategory", "SkuId",
    "SkuPriceId",
)  # fmt: skip
_DATA = "[KMGTPE]i?B"
UNIT = re.compile(rf"([1-9][0-9]* )?({_DATA}|Requests|Hours)|{_DATA}-(Hours|Months)")
"""The unit format, of the units that we have."""
NAMED = {
    "day": "2026-10-05", "upstream": "main", "tenant": "acme", "namespace": "acme:dev", "principal": "User:a",
    "topic": "orders", "physical_topic": physical_name("acme", "orders"), "sku": "produced_bytes",
    "quantity": Decimal(2),
    "price_version": "2026-01", "list_price": Decimal("0.1"), "price": Decimal("0.05"), "list_cost": Decimal("0.2"),
    "cost": Decimal("0.1"),
}  # fmt: skip


def focus_of(
    spark: SparkSession, *charges: dict[str, Any], corrections: Sequence[dict[str, Any]] = (), **more: Any
) -> DataFrame:
    plain = spark.createDataFrame([tuple((NAMED | one).values()) for one in charges], charge_schema())
    named = NAMED | {"reason": "usage", "billed_in": "2026-10"}
    corrected = spark.createDataFrame(
        [tuple((named | one).values()) for one in corrections], correction_schema()
    )
    return to_focus(plain, corrected, BOOK, "2026-10", **({"revision": 3} | more))


EACH_KIND = (
    *({"sku": sku.value} for sku in Sku),
    {"topic": None, "physical_topic": None, "principal": None, "namespace": None},
)
CORRECTION = {
    "day": "2026-09-05", "quantity": Decimal(-1), "list_cost": Decimal("-0.1"), "cost": Decimal("-0.05"),
}  # fmt: skip


def test_every_column_that_applies_is_there_and_ours_come_behind(spark: SparkSession) -> None:
    columns = focus_of(spark, {}).columns

    ours = [name for name in columns if name not in FOCUS]
    assert set(columns) >= set(FOCUS)
    assert columns[-len(ours) :] == ours
    assert all(re.fullmatch(r"x_([A-Z][a-z]+)+", name) for name in ours)
    assert all(len(name) <= 50 for name in columns)


@pytest.mark.parametrize("name", FOCUS)
def test_its_type_is_focus_s(name: str, spark: SparkSession) -> None:
    kind, _allows_null = FOCUS[name]

    found = focus_of(spark, {}).schema[name].dataType.simpleString()

    assert found.partition("(")[0] == ("string" if kind == JSON else kind)


def test_what_focus_never_wants_null_is_not(spark: SparkSession) -> None:
    rows = focus_of(spark, *EACH_KIND, corrections=[CORRECTION]).collect()

    never = [name for name, (_kind, allows_null) in FOCUS.items() if not allows_null]
    assert [name for name in never for row in rows if row[name] is None] == []
    assert [
        n for n in NOT_NULL_BUT_IN_CORRECTIONS for r in rows if r.ChargeClass is None and r[n] is None
    ] == []
    assert "" not in {value for row in rows for value in row}


def test_values_are_among_those_allowed(spark: SparkSession) -> None:
    rows = focus_of(spark, *EACH_KIND, corrections=[CORRECTION]).collect()

    wrong = [
        (name, row[name]) for row in rows for name, allowed in ALLOWED.items() if row[name] not in allowed
    ]
    units = {row[name] for row in rows for name in ("PricingUnit", "ConsumedUnit")}
    assert wrong == []
    assert [unit for unit in units if not UNIT.fullmatch(unit)] == []


def test_what_goes_together_is_null_together(spark: SparkSession) -> None:
    rows = focus_of(spark, *EACH_KIND, {"physical_topic": None}).collect()

    for row in rows:
        assert (row.SubAccountId is None) == (row.SubAccountType is None)
        assert (row.ResourceId is None) == (row.ResourceType is None)
        assert row.ResourceId is not None or row.ResourceName is None
        assert (row.PricingQuantity is None) == (row.PricingUnit is None)


def test_price_times_quantity_is_the_cost(spark: SparkSession) -> None:
    (row,) = focus_of(spark, {}).collect()

    assert row.PricingQuantity * row.ListUnitPrice == row.ListCost
    assert (
        row.PricingQuantity * row.ContractedUnitPrice
        == row.ContractedCost
        == row.BilledCost
        == row.EffectiveCost
    )


def test_json_columns_are_flat_objects_with_a_provider_s_keys(spark: SparkSession) -> None:
    (row,) = focus_of(spark, {}).collect()

    assert json.loads(row.Tags) == {"bifrost/namespace": "acme:dev", "bifrost/principal": "User:a"}
    assert json.loads(row.SkuPriceDetails) == {"x_PriceBookVersion": "2026-01"}


def test_a_row_says_what_it_is_of(spark: SparkSession) -> None:
    (row,) = focus_of(spark, {}).collect()

    assert (row.ResourceId, row.ResourceName, row.ResourceType) == (
        f"main/{physical_name('acme', 'orders')}",
        "orders",
        "Topic",
    )
    assert (row.SkuPriceId, row.InvoiceId) == ("produced_bytes@2026-01", "acme-2026-10")
    assert row.ChargeDescription == "Produced orders, 0.05 EUR for GiB"
    assert (row.ChargePeriodEnd - row.ChargePeriodStart).days == 1
    assert (row.x_Revision, row.x_InvoiceStatus, row.ChargeClass) == (3, "Provisional", None)


def test_a_correction_is_of_an_earlier_period_and_on_this_invoice(spark: SparkSession) -> None:
    (row,) = focus_of(spark, corrections=[CORRECTION], is_issued=True).collect()

    assert (row.ChargeClass, row.InvoiceId, row.x_CorrectedInvoiceId) == (
        "Correction",
        "acme-2026-10",
        "acme-2026-09",
    )
    assert (str(row.BillingPeriodStart)[:7], str(row.ChargePeriodStart)[:10]) == ("2026-10", "2026-09-05")
    assert (row.BilledCost, row.PricingQuantity, row.ListUnitPrice) == (Decimal("-0.05"), -1, Decimal("0.1"))
    assert row.ChargeDescription == "Correction of 2026-09: Produced orders, 0.05 EUR for GiB"
    assert (row.x_CorrectionReason, row.x_InvoiceStatus) == ("Late usage", "Issued")


def test_text_has_no_exponents_and_moments_with_a_z(spark: SparkSession) -> None:
    tiny = {"quantity": Decimal("0.000000000001"), "cost": Decimal(0), "price": Decimal(100)}

    (row,) = to_csv(focus_of(spark, tiny)).collect()

    assert (row.PricingQuantity, row.BilledCost, row.ContractedUnitPrice) == ("0.000000000001", "0", "100")
    assert row.BillingPeriodEnd == "2026-11-01T00:00:00Z"


def test_the_metadata_names_the_version_and_every_column(spark: SparkSession) -> None:
    schema = focus_of(spark, {}).schema

    metadata = json.loads(schema_text(schema))
    columns = {one.pop("ColumnName"): one for one in metadata["ColumnDefinition"]}

    assert (metadata["FocusVersion"], list(columns)) == ("1.2", schema.fieldNames())
    assert columns["BilledCost"] == {"DataType": "DECIMAL", "NumericPrecision": 28, "NumberScale": 10}
    assert columns["Tags"] == {"DataType": "JSON", "ProviderTagPrefixes": ["bifrost/"]}
    assert {columns[name]["DataType"] for name in JSON_COLUMNS} == {"JSON"}
    assert metadata["SchemaId"] == json.loads(schema_text(schema))["SchemaId"]
