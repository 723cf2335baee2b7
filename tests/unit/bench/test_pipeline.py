import pytest
from bench.pipeline import Figures, Progress, as_markdown
from bench.watched import Run


def run(seconds: float) -> Run:
    return Run(seconds, seconds * 2, 1500.4, ())


def test_the_page_has_each_run_and_how_the_largest_relates_to_the_smallest() -> None:
    small = Figures(1_000_000, 2, run(40), run(10), run(6))
    large = Figures(10_000_000, 2, run(380), run(20), run(60))
    single = Figures(1_000_000, 1, run(70), run(15), run(9))

    text = as_markdown([(1_000_000, run(5)), (10_000_000, run(50))], [single, small, large])

    assert "| 1,000,000 | 2 | 5 | 40 | 25,000 | 80 | 12 | 1,500 | 10 | 1,500 | 20,000 |" in text
    assert text.endswith("10 times the rows took 8 times as long (2 partitions).")


def test_one_size_alone_has_no_growth() -> None:
    assert "times" not in as_markdown([(10, run(1))], [Figures(10, 1, run(1), run(1), run(1))])


def test_progress_counts_the_batches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.pipeline.SAY_EVERY_S", 0.0)
    progress = Progress("meter", 300)

    for line in ("batch=0 rows=100 rows_per_s=5", "something else", "batch=1 rows=100 rows_per_s=5"):
        progress(line)

    said = capsys.readouterr().err.splitlines()
    assert [line.partition(" rows")[0] for line in said] == ["meter: 100 of 300", "meter: 200 of 300"]
