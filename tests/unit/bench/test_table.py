from bench.table import Table


def _table() -> Table:
    table = Table("throughput", "PLAINTEXT", "MB/s", 1)
    for value in (3.0, 1.0, 2.0):
        table.add("produce", "direct", value)
    table.add("produce", "gateway", 1234.5)
    table.add("consume", "gateway", None)
    return table


def test_a_cell_is_the_median_with_minimum_and_maximum() -> None:
    table = _table()

    assert table.cell("produce", "direct") == "2.0 (1.0 to 3.0)"
    assert table.cell("produce", "gateway") == "1,234.5"
    assert table.cell("consume", "gateway") == "-"
    assert table.cell("consume", "direct") == "-"


def test_as_text_the_columns_stand_below_each_other() -> None:
    assert _table().as_text().splitlines() == [
        "throughput, PLAINTEXT, MB/s",
        "                   direct  gateway",
        "produce  2.0 (1.0 to 3.0)  1,234.5",
        "consume                 -        -",
    ]


def test_as_markdown_figures_are_on_the_right() -> None:
    assert _table().as_markdown().splitlines() == [
        "| throughput, MB/s | direct | gateway |",
        "| --- | ---: | ---: |",
        "| produce | 2.0 (1.0 to 3.0) | 1,234.5 |",
        "| consume | - | - |",
    ]
