from collections.abc import Callable

import pytest

from golden.oracle import OracleRun, run_oracle

PROPERTY = "oracle"
"""What a test's report has it by: the process that ran it need not be the one that prints the summary."""


@pytest.fixture(scope="session")
def oracle_run() -> OracleRun:
    return run_oracle()


@pytest.fixture
def oracle(oracle_run: OracleRun, record_property: Callable[[str, object], None]) -> OracleRun:
    record_property(PROPERTY, oracle_run.describe())
    return oracle_run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("passed")
    for text in {text for report in reports for name, text in report.user_properties if name == PROPERTY}:
        terminalreporter.write_line(str(text))
