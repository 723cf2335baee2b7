import pytest

from golden.oracle import OracleRun, run_oracle

RUN = pytest.StashKey[OracleRun]()


@pytest.fixture(scope="session")
def oracle(pytestconfig: pytest.Config) -> OracleRun:
    run = run_oracle()
    pytestconfig.stash[RUN] = run
    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if RUN in config.stash:
        terminalreporter.write_line(config.stash[RUN].describe())
