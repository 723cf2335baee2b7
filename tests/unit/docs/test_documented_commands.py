"""The pages name commands and options that `bifrost` has, and every one that it has."""

import importlib
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from bifrost.cli.commands import LAZY_COMMANDS, app
from support.pages.doc_pages import ROOT, commands, pages, spans
from support.pages.source_facts import texts

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
OURS = re.compile(r"(?:^|[\s\"(])bifrost((?: [a-z]+(?:-[a-z]+)*)*)(?=[\s)]|$)([^)|#]*)")
"""A command line of ours, with the words of the command and the rest up to the end of `$(...)` or a comment."""
OF_OTHERS = {"--archives", "--command-config", "--jars"}
"""Options of Kafka's tools and of spark-submit, which a page names without a command."""
COMMON = {"--help"}
"""Options that every command has, and that need no page."""


@cache
def parsers() -> dict[str, Any]:
    """Return every command by its words, such as `pipeline bill`; the whole is under the empty name."""
    root: Any = typer.main.get_command(app)
    found: dict[str, Any] = {"": root}
    for name, stub in root.commands.items():
        found[name] = _loaded(name) if name in LAZY_COMMANDS else stub
    groups = [name for name in found if name]
    for name in groups:  # Groups within them are put behind.
        for inner, command in getattr(found[name], "commands", {}).items():
            found[f"{name} {inner}"] = command
            groups.append(f"{name} {inner}")
    return found


def _loaded(name: str) -> Any:
    """Return the command that a stub of the help stands for."""
    command = getattr(importlib.import_module(LAZY_COMMANDS[name]), name.replace("-", "_"))
    if isinstance(command, typer.Typer):
        return typer.main.get_command(command)
    single = typer.Typer(add_completion=False)
    single.command(name)(command)
    return typer.main.get_command(single)


def options_of(command: Any) -> Iterator[tuple[str, ...]]:
    """Yield the spellings of each option of a command."""
    for parameter in command.params:
        spellings = tuple(one for one in (*parameter.opts, *parameter.secondary_opts) if one.startswith("--"))
        if spellings and not COMMON & {*spellings}:
            yield spellings


def used() -> list[tuple[str, str, str]]:
    """Return (page, words of the command, the rest of the line) of every command line of ours in a page."""
    found = []
    for name, text in pages().items():
        for line in commands(text) + spans(text):
            for match in OURS.finditer(line):
                words = match[1].split()
                while words and " ".join(words) not in parsers():
                    words.pop()
                found.append((name, " ".join(words), match[2]))
    return found


def test_every_command_is_used_in_a_page() -> None:
    known = {name for name, parser in parsers().items() if not name or not hasattr(parser, "commands")}

    assert {"run", "check", "pipeline bill", "credentials"} <= known
    assert known - {command for _, command, _ in used()} == set()


def test_every_option_that_is_used_with_a_command_is_one_of_it() -> None:
    known = {
        name: {one for spellings in options_of(command) for one in spellings}
        for name, command in parsers().items()
    }
    asked = [(page, command, option) for page, command, rest in used() for option in OPTION.findall(rest)]

    assert ("operations.md", "reload", "--config") in asked
    assert [one for one in asked if one[2] not in known[one[1]] | COMMON] == []


def test_every_option_that_a_page_names_by_itself_is_one_of_a_command() -> None:
    known = {one for command in parsers().values() for spellings in options_of(command) for one in spellings}
    of_others = {
        (name, option)
        for name, text in pages().items()
        for line in commands(text)
        if not OURS.search(line)
        for option in OPTION.findall(line)
    }
    named = {
        (name, word.split(" ")[0].partition("=")[0])
        for name, text in pages().items()
        for word in spans(text)
        if OPTION.match(word)
    }

    assert ("pipeline.md", "--master") in named
    assert {one for one in named if one[1] not in known | OF_OTHERS and one not in of_others} == set()


def test_every_option_is_on_a_page_that_uses_its_command() -> None:
    texts = pages()
    missing = []
    for command, parser in parsers().items():
        on = {page for page, name, _ in used() if name == command}
        named = {option for page in on for option in OPTION.findall(texts[page])}
        missing += [(command, one) for one in options_of(parser) if not named & {*one}]

    assert sum(1 for parser in parsers().values() for _ in options_of(parser)) > 30
    assert missing == []


def test_every_target_of_make_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    texts = pages() | {"CONTRIBUTING.md": (ROOT / "CONTRIBUTING.md").read_text("utf-8")}
    named = {
        match[1]
        for text in texts.values()
        for line in commands(text) + spans(text)
        for match in re.finditer(r"\bmake ([a-z][a-z-]*)", line)
    }

    assert {"test", "demo", "bench"} <= named <= targets


def test_nothing_tells_the_reader_to_install_a_package_that_no_index_has() -> None:
    """Bifrost is installed from a clone, until it is published."""
    told = {**pages(), **{text: text for text in texts()}}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert [name for name, text in told.items() if re.search(r"install \S*bifrost-kafka", text)] == []
    named = {extra for text in told.values() for extra in re.findall(r"pip install '\.\[(\w+)\]'", text)}
    assert {"embedded", "gssapi", "java", "pipeline"} <= named <= extras.keys()
