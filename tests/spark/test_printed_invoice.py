"""An invoice on paper: printed by a headless Chromium, and read back from the PDF."""

from __future__ import annotations

import datetime
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from bifrost.pipeline.billing.bill_pages import tenant_page
from bifrost.pipeline.billing.invoices import invoices_of
from bifrost.pipeline.billing.month_figures import BillFigures, DayCost, Line, NamespaceCost
from bifrost.pipeline.billing.price_book import Sku, read_price_book
from bifrost.pipeline.report import render
from support.skips.optional_parts import BROWSER, PARTS, lacks

ROOT = Path(__file__).resolve().parents[2]
WIDTH_PT, MARGIN_PT = 595.0, 45.0
"""Of A4, and of the 16 mm that the style sheet leaves on both sides."""
TOPIC = f"orders.{'x' * 240}"
"""As long as Kafka allows: it must not push a column off the page."""

pytestmark = [
    pytest.mark.skipif(
        not next(one for one in PARTS if one.name == BROWSER).is_there(), reason=lacks(BROWSER)
    ),
    pytest.mark.timeout(180),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The issued invoice of a month in which each meter was used on each day, by the price book of the examples."""
    book = read_price_book((ROOT / "examples/price-book.yaml").read_text("utf-8"), "price-book.yaml")
    prices = book.versions[-1].prices
    days = [
        DayCost(
            "acme",
            f"2026-10-{day:02}",
            sku.value,
            Decimal("1234.567"),
            Decimal("1234.567") * getattr(prices, sku.value),
            Decimal("1234.567") * getattr(prices, sku.value) * Decimal("0.85"),
            getattr(prices, sku.value),
        )
        for day in range(1, 32)
        for sku in Sku
    ]
    cost = sum((one.cost for one in days), Decimal(0))
    figures = BillFigures(
        book,
        "2026-10",
        1,
        days,
        [NamespaceCost("acme", "acme:shop", Sku.PRODUCED_BYTES.value, Decimal(1), cost)],
        [Line("acme", "acme:shop", f"User:{'y' * 200}", TOPIC, cost)],
        issued_on=datetime.date(2026, 11, 2),
    )
    folder = tmp_path_factory.mktemp("printed")
    page, pdf = folder / "acme.html", folder / "acme.pdf"
    page.write_text(render(tenant_page(figures, "acme", invoices_of(figures)["acme"])), "utf-8")
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
    ]
    subprocess.run(
        [*command, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=150,
    )
    return pdf


def told(pdf: Path, program: str, *options: str) -> str:
    found = shutil.which(program)
    assert found is not None
    behind = [] if program == "pdfinfo" else ["-"]
    return subprocess.run(
        [found, *options, str(pdf), *behind], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_the_first_page_has_all_that_a_finance_department_pays_by(printed: Path) -> None:
    # The lines of the table need the layout; the parties, which stand side by side, the order of the text.
    first = " ".join(
        (told(printed, "pdftotext", "-layout", "-l", "1") + told(printed, "pdftotext", "-l", "1")).split()
    )

    for expected in (
        "Invoice acme-2026-10",
        "Example Streaming Platform GmbH",
        "Hafenstrasse 1",
        "Tax ID DE123456789",
        "Acme Logistics AG",
        "28195 Bremen",
        "Tax ID DE987654321",
        "2026-10-01 to 2026-10-31",
        "2026-11-02",
        "2026-12-02",
        "PO 4500017",
        "Data produced 38,271.577 GiB 0.07 2,679.01 401.85 2,277.16",
        "Data stored, replicas counted 38,271.577 GiB-months 0.09 3,444.44 516.66 2,927.78",
        "VAT 19 %",
        "To pay",
        "IBAN DE02 1203 0000 0000 2020 51",
    ):
        assert expected in first
    assert "provisional" not in first.lower()


def test_the_amounts_on_paper_add_up(printed: Path) -> None:
    text = told(printed, "pdftotext", "-layout", "-l", "1")

    lines = re.findall(r"([\d,]+\.\d\d) +([\d,]+\.\d\d) +([\d,]+\.\d\d)\s*$", text, re.MULTILINE)
    amounts = [[Decimal(one.replace(",", "")) for one in line] for line in lines]
    *used, (gross, discount, net) = amounts
    assert len(used) == len(Sku)
    assert [sum(column) for column in zip(*used, strict=True)] == [gross, discount, net]
    assert all(one - off == left for one, off, left in amounts)
    [tax] = re.findall(r"VAT 19 %.* ([\d,]+\.\d\d)\s*$", text, re.MULTILINE)
    [due] = re.findall(r"To pay +([\d,]+\.\d\d) EUR", text)
    assert Decimal(tax.replace(",", "")) == (net * Decimal("0.19")).quantize(Decimal("0.01"))
    assert Decimal(due.replace(",", "")) == net + Decimal(tax.replace(",", ""))


def test_the_longest_names_leave_room_for_the_amounts_beside_them(printed: Path) -> None:
    details = told(printed, "pdftotext", "-f", "2")

    assert TOPIC in "".join(details.split())
    [lines] = re.findall(r"Largest lines(.*)", details, re.DOTALL)
    assert "EUR" in lines
    assert "13,402.71" in lines


def test_it_is_on_a4_with_its_number_on_each_page_and_nothing_beyond_the_margins(printed: Path) -> None:
    facts = told(printed, "pdfinfo")
    assert "(A4)" in facts
    pages = told(printed, "pdftotext", "-layout").split("\f")[:-1]
    assert len(pages) == int(re.findall(r"Pages: +(\d+)", facts)[0]) >= 2
    assert all("acme-2026-10" in one for one in pages)

    words = re.findall(
        r'<word xMin="([\d.]+)" yMin="[\d.]+" xMax="([\d.]+)"', told(printed, "pdftotext", "-bbox")
    )
    assert len(words) > 100
    assert min(float(left) for left, _right in words) >= MARGIN_PT - 0.5
    assert max(float(right) for _left, right in words) <= WIDTH_PT - MARGIN_PT + 0.5
