"""The house rules that a linter does not know (CONTRIBUTING.md)."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages.cython_functions import cython_functions
from support.pages.source_tree import ROOT, SOURCE, UNIT, committed, cython_sources, modules

MAX_LINES = {"src": 400, "tools": 400, "bench": 400, "tests": 450}
"""Lines of a file; in tests a few more, for tables."""
MAX_ENGINE_LINES = 600
MAX_FILES = 20
"""Source files of a folder."""
MAX_FUNCTION_LINES = {"src": 60, "tools": 60, "bench": 60, "tests": 80}
LONG_CYTHON_FUNCTIONS = {
    "walk": "rewrites a message: one loop over a program, with a branch for each kind of field, whose state is local",
    "tally": "counts a message: likewise",
    "walk_over": "finds what brokers keep of a message: likewise",
}
"""Functions of Cython that walk over a whole message; their branches as functions would have to share their state."""
GENERATED = {"src/bifrost/wire/messages.pyi"}

BANNED_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "managers", "misc"}

WITHOUT_TWIN = {
    "cli/admin/cluster_backend.py": "asks brokers: tests/kafka/control",
    "cli/admin/cluster_groups.py": "asks brokers: tests/kafka/control",
    "cli/admin/cluster_topics.py": "asks brokers: tests/kafka/control",
    "config/schema_rules/filters.py": "a part of sections.py, whose tests have it",
    "config/schema_rules/forms.py": "a part of sections.py, whose tests have it",
    "config/schema_rules/keys.py": "a part of sections.py, whose tests have it",
    "config/schema_rules/pieces.py": "a part of sections.py, whose tests have it",
    "config/schema_rules/whole_file.py": "a part of sections.py, whose tests have it",
    "embedded/demo/observer.py": "reads a real broker: tests/kafka/test_demo.py",
    "embedded/demo/run.py": "starts real processes: tests/kafka/test_demo.py",
    "embedded/demo/tenant.py": "a real producer and consumer: tests/kafka/test_demo.py",
    "filters/filter.py": "the shape of a filter, without behaviour",
    "gateway/brokers/cluster_inventory.py": "asks real brokers: tests/kafka/operations/test_inventory.py",
    "gateway/routing/broker_link.py": "connects to brokers: tests/kafka/single",
    "gateway/routing/dispatch.py": "sends to brokers: tests/kafka/single",
    "gateway/routing/fetch_polls.py": "polls brokers: tests/kafka/single",
    "gateway/routing/keyed_requests.py": "asks coordinators: tests/kafka/single",
    "gateway/routing/router.py": "sends to brokers: tests/kafka/single",
    "gateway/routing/share_acknowledgements.py": "a part of share_requests.py, whose tests have it",
    "gateway/routing/split_requests.py": "sends to brokers: tests/kafka/single",
    "gateway/producing/transactional_producer.py": "asks brokers: tests/kafka/state",
    "gateway/state/gateway_state.py": "asks brokers: tests/kafka/state",
    "gateway/state/state_client.py": "asks brokers: tests/kafka/state",
    "gateway/state/state_writer.py": "asks brokers: tests/kafka/state",
    "gateway/workers/worker.py": "a process of its own: tests/kafka/operations/test_worker*.py",
}
"""Modules that have no test file of their own name, each with the reason."""

# In pieces, or this file would be found by itself.
MACHINE_PATHS = re.compile(
    "|".join(["/wo" + r"rk/", "/wo" + r"rk\b", "/tmp" + r"/w\b", "/ro" + r"ot/\.", "/ho" + r"me/"])
)
REGISTRIES = re.compile(
    "|".join(
        [
            "index-" + "url",
            "pypi" + r"\.org",
            "python" + "hosted",
            "artif" + "actory",
            "nex" + r"us\.",
            "maven" + r"\.org",
        ]
    ),
    re.IGNORECASE,
)


def python_files() -> Iterator[tuple[str, Path]]:
    """Every Python and Cython file with the top folder it is in."""
    for path in committed():
        top = path.relative_to(ROOT).parts[0]
        is_code = path.suffix in (".py", ".pyi", ".pyx", ".pxd")
        if is_code and top in MAX_LINES and str(path.relative_to(ROOT)) not in GENERATED:
            yield top, path


def twin_of(module: str) -> Path:
    path = Path(module)
    return UNIT / path.parent / f"test_{path.name}"


def is_tested(module: str) -> bool:
    """Whether a module has a test file of its name; one about frames of Spark's has it in tests/spark."""
    spark = ROOT / "tests/spark" / twin_of(module).name
    return twin_of(module).exists() or (module.startswith("pipeline/") and spark.exists())


def has_behaviour(module: str) -> bool:
    """Whether a module has a function that does something; the methods of a Protocol do nothing."""
    tree = ast.parse((SOURCE / module).read_text(encoding="utf-8"))
    functions = [one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return any(not isinstance(line, ast.Expr) for function in functions for line in function.body)


def test_every_module_has_a_test_file_of_its_name_or_a_reason_for_none() -> None:
    without = [module for module in modules() if has_behaviour(module) and not is_tested(module)]

    assert [module for module in without if module not in WITHOUT_TWIN] == []


def test_no_reason_is_given_in_vain() -> None:
    needless = {
        one for one in WITHOUT_TWIN if one not in modules() or is_tested(one) or not has_behaviour(one)
    }

    assert needless == set()


def test_every_test_file_of_a_module_s_name_has_its_module() -> None:
    packages = {path.parent.relative_to(SOURCE) for path in SOURCE.rglob("__init__.py")}
    for package in packages:
        sources = {path.stem for path in (SOURCE / package).iterdir()}
        for test in (UNIT / package).glob("test_*.py"):
            name = test.stem.removeprefix("test_")
            # Some modules have more than one test file: `test_program_prune.py`; others are about more than one.
            is_about_one = name in sources or any(name.startswith(f"{source}_") for source in sources)
            assert is_about_one or test.read_text(encoding="utf-8").startswith('"""'), (
                f"{test}: say what it is about"
            )


def test_folders_stay_small() -> None:
    folders = [path.parent for path in SOURCE.rglob("__init__.py")]
    sizes = {
        str(folder.relative_to(SOURCE)): sum(one.suffix in (".py", ".pyx") for one in folder.iterdir())
        for folder in folders
    }

    assert {name: size for name, size in sizes.items() if size > MAX_FILES} == {}


def test_files_stay_readable() -> None:
    too_long = {}
    for top, path in python_files():
        is_engine = path.suffix in (".pyx", ".pxd") or path.with_suffix(".pyx").exists()
        limit = MAX_ENGINE_LINES if is_engine else MAX_LINES[top]
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > limit:
            too_long[str(path.relative_to(ROOT))] = lines

    assert too_long == {}


def test_functions_stay_readable() -> None:
    too_long = {}
    for top, path in python_files():
        if path.suffix != ".py":
            continue
        for function in _functions(path):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines >= MAX_FUNCTION_LINES[top]:
                too_long[f"{path.relative_to(ROOT)}: {function.name}"] = lines

    assert too_long == {}


def test_functions_of_cython_stay_readable() -> None:
    found = [one for path in cython_sources() for one in cython_functions(path.read_text(encoding="utf-8"))]
    too_long = {one.name for one in found if one.lines >= MAX_FUNCTION_LINES["src"]}

    assert len(found) > 200
    assert too_long == set(LONG_CYTHON_FUNCTIONS)


def test_functions_of_cython_are_found_with_their_lines() -> None:
    text = """
cdef class Program:
    cdef int size

    def __cinit__(self):
        self.size = 1

        # A comment belongs to the function.

    cpdef list ops(self,
                   int least=0):
        return [least]

cdef inline int read(Program program, Reader* r) except? -1:
    cdef int n = need(r)
    return n
cdef int declared(int n) except -1
cdef object called = read(None)
"""

    assert [(one.name, one.line, one.lines) for one in cython_functions(text)] == [
        ("__cinit__", 5, 4),
        ("ops", 10, 3),
        ("read", 14, 3),
    ]


def test_every_file_is_one_noun() -> None:
    names = {path: path.stem.removeprefix("test_") for _top, path in python_files()}

    assert [path for path, name in names.items() if name in BANNED_NAMES] == []


@pytest.mark.parametrize("pattern", [MACHINE_PATHS, REGISTRIES], ids=["machine paths", "registries"])
def test_nothing_of_the_machine_that_made_it_is_in_the_project(pattern: re.Pattern[str]) -> None:
    found = []
    for path in committed():
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(text)]

    assert found == []


NAMING_RULE = "__vt" + "_"
SPELL_PHYSICAL_NAMES = {
    "src/bifrost/config/name_template.py": "the rule",
    "tests/support/physical_names.py": "the rule as the tests know it",
    "tests/golden/test_topic_regex_re2j.py": "patterns, letter by letter",
    "tests/kafka/operations/test_journal.py": "what readers of the journal find",
    "tests/kafka/tenancy/test_hidden_names.py": "what a broker has, from end to end",
    "tests/kafka/test_demo.py": "what the demo prints",
    "tests/property/test_topic_regex_properties.py": "patterns, letter by letter",
    "tests/spark/test_name_owners.py": "a test of the rule",
    "tests/unit/config/checks/test_internal_prefixes.py": "what the operator reads",
    "tests/unit/config/test_load.py": "what the operator reads",
    "tests/unit/config/test_name_template.py": "a test of the rule",
    "tests/unit/embedded/demo/test_plain.py": "what the demo prints",
    "tests/unit/embedded/demo/test_screen.py": "what the demo prints",
    "tests/unit/embedded/demo/test_state.py": "what the demo prints",
    "tests/unit/tenancy/test_names.py": "a test of the rule",
    "tests/unit/tenancy/test_namespace.py": "a test of the rule",
    "tests/unit/tenancy/test_topic_regex.py": "patterns, letter by letter",
}
"""Files with literals of physical names, each with the reason; the others ask `NameTemplate` or `physical_name`."""


def _literals(path: Path) -> Iterator[str]:
    """Yield the texts in a file that are not docstrings, if one of them may be a physical name."""
    text = path.read_text(encoding="utf-8")
    if NAMING_RULE.strip("_") not in text:  # parsing all files takes many seconds
        return
    tree = ast.parse(text)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and node not in docstrings:
            yield node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def test_only_named_files_spell_physical_names() -> None:
    files = [path for _top, path in python_files() if path.suffix == ".py"]
    found = {path for path in files if any(NAMING_RULE in text for text in _literals(path))}

    assert {str(path.relative_to(ROOT)) for path in found} == set(SPELL_PHYSICAL_NAMES)


ASK_FOR_THE_SHARED_PREFIX = {
    "tenancy/ownership.py": "the only place that compares names with prefixes",
    "tenancy/names.py": "patterns that brokers match, and error texts",
    "session/decoded_response.py": "the engine's `prune`",
    "session/topics/counted_topics.py": "the engine's `prune`",
    "journal/topic_owners.py": "the journal tells its readers",
}
"""Modules that must change when a name's beginning does not decide its owner any more."""


def test_only_named_modules_know_how_an_owner_s_names_begin() -> None:
    found = {one for one in modules() if "shared_prefix" in (SOURCE / one).read_text(encoding="utf-8")}

    assert found == set(ASK_FOR_THE_SHARED_PREFIX)


def test_all_tests_can_be_run_at_once() -> None:
    """Outside packages Python knows a test file by its name alone, and one module as `conftest`, not the file's own."""
    names = Counter(
        path.name
        for top, path in python_files()
        if top == "tests" and path.name.startswith("test_") and not (path.parent / "__init__.py").exists()
    )

    importing = [
        str(path.relative_to(ROOT))
        for top, path in python_files()
        if top == "tests"
        and re.search(r"^(from|import) conftest\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert [name for name, count in names.items() if count > 1] == []
    assert importing == []


def test_every_test_checks_something() -> None:
    """A test asserts, expects a failure, or calls what does: a function beside it, or one whose name says so."""
    without = []
    for top, path in python_files():
        if top == "tests" and path.name.startswith("test_"):
            functions = _functions(path)
            checking = {function.name for function in functions if _checks(function, set())}
            without += [
                f"{path.relative_to(ROOT)}: {function.name}"
                for function in functions
                if function.name.startswith("test_") and not _checks(function, checking)
            ]

    assert without == []


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(path: Path) -> list[Function]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _checks(function: Function, checking: set[str]) -> bool:
    return any(isinstance(node, ast.Assert) or _is_check(node, checking) for node in ast.walk(function))


def _is_check(node: ast.AST, checking: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if any(keyword.arg in ("fails", "prints") for keyword in node.keywords):
        return True
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in checking or name.startswith(("assert", "check", "expect", "raises", "fail"))


LOOPS_ELSEWHERE = {"api_versions.py", "build.py", "plan.py", "error_places.py"}
"""Files of filters that loop over tables, not over messages."""


def _loops(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            yield node.iter
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield from (one.iter for one in node.generators)


def test_filters_loop_over_messages_in_steps() -> None:
    """A loop over a list of a request or response has to let others have their turn."""
    found = []
    for path in sorted((ROOT / "src/bifrost/filters").rglob("*.py")):
        if path.name in LOOPS_ELSEWHERE:
            continue
        for loop in _loops(ast.parse(path.read_text(encoding="utf-8"))):
            source = loop.values[0] if isinstance(loop, ast.BoolOp) else loop
            names = {node.id for node in ast.walk(source) if isinstance(node, ast.Name)}
            if isinstance(source, ast.Attribute) and names & {
                "request",
                "response",
                "topic",
                "group",
                "result",
            }:
                found.append(f"{path.name}:{loop.lineno}: {ast.unparse(loop)}")

    assert found == []
