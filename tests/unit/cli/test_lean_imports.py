import subprocess
import sys

import pytest

from bifrost.cli.lean_imports import import_structlog, lean_pydantic


def imported_after(code: str, *names: str) -> list[str]:
    """Return which of the modules a fresh interpreter has imported after some code."""
    program = f"{code}\nimport sys\nprint(*sorted(set({names!r}).intersection(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout.split()


def test_structlog_comes_without_rich_and_pickle() -> None:
    code = "from bifrost.cli.lean_imports import import_structlog; import_structlog().get_logger()"

    assert imported_after(code, "rich", "pickle", "structlog") == ["structlog"]


def test_afterwards_pickle_is_the_whole_module() -> None:
    code = (
        "from bifrost.cli.lean_imports import import_structlog; import_structlog()\n"
        "import pickle; assert pickle.loads(pickle.dumps([1])) == [1]"
    )

    assert imported_after(code, "pickle") == ["pickle"]


def test_rich_that_is_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import rich

    assert import_structlog().get_logger() is not None
    assert sys.modules["rich"] is rich


def test_a_model_is_made_without_the_packages_for_e_mail_time_zones_and_fractions() -> None:
    lean = "from bifrost.cli.lean_imports import lean_pydantic\nwith lean_pydantic():\n    "
    code = "import bifrost.config.model"

    unneeded = ["decimal", "email", "fractions", "importlib.metadata", "sysconfig", "zoneinfo"]
    assert imported_after(lean + code, *unneeded) == []
    assert imported_after(code, *unneeded) == unneeded


def test_afterwards_time_zones_are_there_as_ever() -> None:
    code = (
        "from bifrost.cli.lean_imports import lean_pydantic\nwith lean_pydantic():\n    import bifrost.config.model\n"
        "import zoneinfo\nassert 'UTC' in zoneinfo.available_timezones() and zoneinfo.ZoneInfo('UTC')"
    )

    assert imported_after(code, "zoneinfo") == ["zoneinfo"]


def test_afterwards_numbers_are_there_as_ever() -> None:
    code = (
        "from bifrost.cli.lean_imports import lean_pydantic\nwith lean_pydantic():\n    import bifrost.config.model\n"
        "import decimal, fractions\nassert fractions.Fraction(decimal.Decimal('1.5')) == fractions.Fraction(3, 2)"
    )

    assert imported_after(code, "decimal", "fractions") == ["decimal", "fractions"]


def test_afterwards_entry_points_are_found_as_ever() -> None:
    code = (
        "from bifrost.cli.lean_imports import lean_pydantic\nwith lean_pydantic():\n"
        "    from importlib.metadata import entry_points\n    assert entry_points(group='pydantic') == ()\n"
        "from importlib.metadata import entry_points\nassert entry_points(group='console_scripts')"
    )

    assert imported_after(code, "importlib.metadata") == ["importlib.metadata"]


def test_a_module_that_is_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    with lean_pydantic():
        assert sys.modules["importlib.metadata"] is importlib.metadata
    assert sys.modules["importlib.metadata"] is importlib.metadata


def test_a_gateway_has_nothing_of_the_admin_api() -> None:
    code = "import bifrost.cli.main, bifrost.cli.worker, bifrost.gateway.workers.processes"

    assert imported_after(code, "bifrost.control", "fastapi", "starlette", "uvicorn", "asyncio") == [
        "asyncio"
    ]


def test_a_client_of_the_admin_api_has_nothing_of_its_server() -> None:
    code = "import bifrost.cli.admin.namespaces"

    assert imported_after(code, "bifrost.control", "bifrost.gateway", "fastapi", "http.client") == [
        "http.client"
    ]
