from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

from bifrost.pipeline.report import Account, BillReport, BudgetLine, Table, render, render_tables

REPORT = BillReport(
    title="acme <b>",
    provider="Us",
    currency="EUR",
    period="2026-10",
    revision=2,
    total=Decimal("85.5"),
    discount=Decimal("14.5"),
    days=["2026-10-01", "2026-10-02"],
    by_sku=[("produced", [40.0, 45.5])],
    ranked_title="Namespaces",
    ranked=[("acme:dev", 85.5)],
    meters=Table(["meter", "quantity"], [["produced", Decimal("12.5")]]),
    lines=Table(["topic", "cost"], [["<script>x</script>", Decimal("85.5")]]),
    restated=Table(["day", "was", "is"], [["2026-10-01", Decimal(39), Decimal(40)]]),
    budgets=[BudgetLine("acme:dev", Decimal(50), Decimal("85.5"), Decimal(90), "producer_byte_rate 4000")],
)


class Balance(HTMLParser):
    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def text_of(page: str) -> str:
    parser = Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return " ".join(parser.text)


def test_a_page_says_the_total_what_was_saved_and_what_changed() -> None:
    text = text_of(render(REPORT))

    for expected in (
        "85.50 EUR",
        "14.50 EUR",
        "Restated since the last bill",
        "producer_byte_rate 4000",
        "2026-10",
    ):
        assert expected in text


def test_nothing_of_a_tenant_is_markup_and_nothing_is_fetched() -> None:
    page = render(REPORT)

    assert "<script" not in page
    assert "acme &lt;b&gt;" in page
    assert "http" not in page
    assert "url(" not in page


def test_a_bill_without_budgets_or_restatements_leaves_them_out() -> None:
    text = text_of(
        render(replace(REPORT, budgets=(), restated=Table([], []), meters=Table(["a"], [], "no usage")))
    )

    assert "Budgets" not in text
    assert "Restated" not in text
    assert "no usage" in text


def test_a_budget_that_will_be_exceeded_is_marked() -> None:
    page = render(REPORT)

    assert 'class="meter over"' in page


def test_the_platform_s_page_leads_to_those_of_the_tenants() -> None:
    accounts = [
        Account("acme", "acme-2026-10", "tenants/acme.html", Decimal(80), Decimal("15.2")),
        Account("other tenants: 2", "", "", Decimal("5.5"), Decimal(0)),
    ]

    page = render(replace(REPORT, accounts=accounts, tax=Decimal("15.2")))

    assert '<a href="tenants/acme.html">acme</a>' in page
    assert '<td class="n">95.20</td>' in page
    assert '<td>Total</td><td></td><td class="n">85.50</td><td class="n">15.20</td>' in page
    assert "100.70 EUR" in page


def test_values_that_are_kept_whole_are_marked() -> None:
    table = Table(("set", "n"), [("linger.ms=20", Decimal(1)), ("acks=all", "")], unbroken=("set",))

    assert table.classes == ["w", "n"]
    assert '<td class="w">linger.ms=20</td>' in render_tables("t", "o", [("s", table)])


def test_a_legend_names_every_colour() -> None:
    page = render(replace(REPORT, by_sku=[("a&b", [1.0, 2.0]), ("c", [0.0, 1.0])]))

    assert '<i class="k0"></i>a&amp;b' in page
    assert '<i class="k1"></i>c' in page


def test_a_budget_of_nothing_is_exceeded_by_any_cost() -> None:
    budget = BudgetLine("acme", Decimal(0), Decimal(0), Decimal(1), "")

    assert budget.state == "over"
    assert replace(budget, projected=Decimal(0)).state == "near"


def test_a_page_of_tables_has_its_headings_and_says_when_a_table_is_empty() -> None:
    sections = [("First", Table(["n", "who"], [[1200, "<b>"]])), ("Second", Table(["n"], [], "none here"))]

    page = render_tables("Advice & more", "30 days", sections)

    assert "<h1>Advice &amp; more</h1>" in page
    assert '<td class="n">1,200</td><td>&lt;b&gt;</td>' in page
    assert "none here" in text_of(page)
