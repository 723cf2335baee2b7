"""Every module of the benchmarks imports: mypy does not read them, and most run only by hand."""

import importlib
import pkgutil

import bench
import pytest

MODULES = [one.name for one in pkgutil.walk_packages(bench.__path__, "bench.")]


@pytest.mark.parametrize("name", [one for one in MODULES if not one.endswith("__main__")])
def test_a_module_of_the_benchmarks_imports(name: str) -> None:
    assert importlib.import_module(name).__doc__


@pytest.mark.parametrize("name", [one for one in MODULES if one.endswith("__main__")])
def test_a_command_of_the_benchmarks_imports(name: str) -> None:
    assert importlib.import_module(name)
