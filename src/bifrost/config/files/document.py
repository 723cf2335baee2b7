"""Reads YAML text into plain values, with the line of each.

It supports only what a configuration needs: mappings with text keys, lists, texts, numbers, booleans; anchors and merge
keys, but no tags. The text is not trusted: nesting, aliases and the number of values they expand to are bounded.
Messages never repeat a value, because the operator may have written a password there by mistake.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from bifrost.config.loc import Loc

MAX_DEPTH = 32
"""Deepest nesting; the model has nine levels."""

MAX_ALIASES = 1000
"""Most uses of anchors (`*name`) in one file."""

MAX_DOCUMENTS = 1_024
"""Most documents (separated by `---`) in one file; the model has room for far fewer virtual clusters."""

MAX_VALUES = 200_000
"""Most values after aliases are expanded: twice those in a file of 1 MiB full of tenants."""

# libyaml is six times as fast; a platform without it has PyYAML's own parser.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONTROL_CHARACTER = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG = "tag:yaml.org,2002:"
_HINTS = (
    ("mapping values are not allowed", "check the indentation, and put a text that contains ': ' in quotes"),
    ("cannot start any token", "put a text that begins with this character in quotes"),
    ("did not find expected key", "check the indentation and the quotes around here"),
    ("did not find expected '-' indicator", "check the indentation"),
    ("expected <block end>", "check the indentation"),
    ("expected ','", "close the bracket or brace, or add the comma"),
    ("unexpected end of stream", "close the quotes"),
)


class DocumentError(Exception):
    """The text is not YAML or uses YAML that is not supported, so it cannot be read at all."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.line = line
        self.text = text


@dataclass(slots=True)
class Document:
    """The values of one YAML document."""

    data: object = None
    """The root value: dict, list, str, int, float, bool, or None. No object occurs in it twice."""

    lines: dict[Loc, int] = field(default_factory=dict)
    """The line, from 1, on which each value begins; for a value in a mapping, that of its key."""

    problems: list[tuple[Loc | None, int, str]] = field(default_factory=list)
    """Mistakes that leave the rest readable: the place in `data` of the wrong value (None when all values are right),
    the line, and a text that says what is wrong and how to correct it."""

    def let_go(self) -> None:
        """Free the values and lines piece by piece, for they are not needed any more.

        To free those of thousands of tenants at once takes 10 ms and more, in which no other thread can run: in a
        gateway that reads its configuration again the clients would wait.
        """
        while self.lines:
            self.lines.popitem()
        let_go_of_lists(self.data)

    def line_of(self, loc: Loc) -> int:
        """Return the line of the value at `loc`, or of the nearest enclosing value that exists."""
        while loc and loc not in self.lines:
            loc = loc[:-1]
        return self.lines.get(loc, 1)


def read_documents(text: str) -> list[Document]:
    """Read the YAML documents of one file; lines count from the start of the file.

    Returns:
        One Document for each, also for those without a value; one without a value when the file has no document.
    Raises:
        DocumentError: the text is not YAML, uses a feature that is not supported, or exceeds a limit.
    """
    match = _CONTROL_CHARACTER.search(text)
    if match:
        line = text.count("\n", 0, match.start()) + 1
        raise DocumentError(line, f"control character U+{ord(match.group()):04X}: remove it")
    try:
        _check_bounds(text)
        roots = list(yaml.compose_all(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except yaml.YAMLError:
        raise DocumentError(1, "not YAML") from None
    documents: list[Document] = []
    count = 0
    for root in roots:
        reader = _Reader(count)
        reader.document.data = reader.read(root, ())
        documents.append(reader.document)
        count = reader.count
    _let_go_of_nodes(roots)
    return documents or [Document()]


def let_go_of_lists(data: object) -> None:
    """Free the long lists of a configuration, such as its tenants, an item at a time; see `Document.let_go`."""
    if isinstance(data, dict):
        for value in data.values():
            let_go_of_lists(value)
    elif isinstance(data, list):
        while data:
            data.pop()


def _let_go_of_nodes(nodes: list[yaml.Node]) -> None:
    """Free a tree of nodes, a node at a time; see `Document.let_go`."""
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
            node.value = []
        elif isinstance(node, yaml.MappingNode):
            for pair in node.value:
                nodes += pair
            node.value = []


def _check_bounds(text: str) -> None:
    """Refuse a text whose tree would exhaust the stack or the memory of the code that builds it."""
    depth = aliases = 0
    line = 0
    documents = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else line
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if documents > MAX_DOCUMENTS:
            raise DocumentError(line, f"more than {MAX_DOCUMENTS} documents in one file: use fewer")
        if depth > MAX_DEPTH:
            raise DocumentError(line, f"nested more than {MAX_DEPTH} levels deep")
        if aliases > MAX_ALIASES:
            raise DocumentError(line, f"more than {MAX_ALIASES} aliases: write them out")


def _syntax_error(error: yaml.MarkedYAMLError, text: str) -> DocumentError:
    lines = text.splitlines() or [""]
    mark = error.problem_mark or error.context_mark
    # At the end of the text the parsers point behind the last line.
    line = min(mark.line + 1 if mark else 1, len(lines))
    problem = error.problem or "not YAML"
    source = lines[line - 1]
    if "tab" in problem or "\t" in source[: len(source) - len(source.lstrip())]:
        return DocumentError(line, "a tab: indent with spaces, YAML takes no tabs there")
    if "undefined alias" in problem:
        # Not the alias itself: an unquoted password may begin with *.
        return DocumentError(line, "an alias without its anchor: put text that begins with * in quotes")
    if "tag" in problem:
        return DocumentError(line, "a tag that is not supported: put text that begins with ! in quotes")
    if problem.startswith("but "):
        problem = f"{error.context}, {problem}"
    elif error.context_mark is not None and error.context_mark.line + 1 != line:
        problem = f"{problem}, noticed on line {line} {error.context}"
        # Report a bracket or quote that is not closed where it opens, not where the parser notices it.
        line = error.context_mark.line + 1 if re.search("flow|quoted", error.context or "") else line
    hint = next((hint for start, hint in _HINTS if start in problem), "")
    return DocumentError(line, f"not YAML: {problem}" + (f": {hint}" if hint else ""))


def show_key(key: str) -> str:
    """Return a key as it may be printed: only a text that looks like a key, because any other may be a password."""
    return key if re.fullmatch("[A-Za-z0-9_.-]{1,60}", key) else "this key"


class _Reader:
    """Turns nodes into values; each alias is expanded into a copy of its own."""

    def __init__(self, count: int) -> None:
        """Begin a document.

        Args:
            count: how many values the documents before it have, because the bound applies to the whole file.
        """
        self.document = Document()
        self.count = count
        self._constructor = yaml.constructor.SafeConstructor()
        self._open: set[int] = set()

    def read(self, node: yaml.Node, loc: Loc) -> object:
        line = node.start_mark.line + 1
        self.document.lines.setdefault(loc, line)
        self.count += 1
        if self.count > MAX_VALUES:
            raise DocumentError(line, f"more than {MAX_VALUES} values, with aliases expanded: use fewer")
        if id(node) in self._open:
            raise DocumentError(line, "an anchor that contains itself")
        if len(loc) > MAX_DEPTH:
            raise DocumentError(line, f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(node, yaml.ScalarNode):
            return self._read_scalar(node, loc, line)
        if node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
            self._tag_problem(loc, line)
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.read(item, (*loc, index)) for index, item in enumerate(node.value)]
            return self._read_mapping(node, loc) if isinstance(node, yaml.MappingNode) else None
        finally:
            self._open.discard(id(node))

    def _read_scalar(self, node: yaml.ScalarNode, loc: Loc, line: int) -> object:
        if node.tag.removeprefix(_TAG) in ("str", "value", "timestamp", "merge"):
            # No setting takes a date; as a text it can at least be named in the message.
            return node.value
        if node.tag.removeprefix(_TAG) not in ("int", "float", "bool", "null"):
            self._tag_problem(loc, line)
            return None
        try:
            value: object = self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError, LookupError, OverflowError):
            self.document.problems.append((loc, line, "a number that cannot be read: put text in quotes"))
            return None
        return value

    def _tag_problem(self, loc: Loc, line: int) -> None:
        text = "a tag (!...) is not supported: put text that begins with ! in quotes"
        self.document.problems.append((loc, line, text))

    def _read_mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, object]:
        values: dict[str, object] = {}
        merged: list[yaml.Node] = []
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag == f"{_TAG}merge":
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
            elif not isinstance(key, yaml.ScalarNode) or key.tag != f"{_TAG}str":
                self.document.problems.append((None, line, "a key that is not a text: put it in quotes"))
            elif key.value in values:
                first = self.document.lines[(*loc, key.value)]
                text = f"{show_key(key.value)} is given twice, first on line {first}: remove one of them"
                self.document.problems.append((None, line, text))
            else:
                self.document.lines[(*loc, key.value)] = line
                values[key.value] = self.read(value, (*loc, key.value))
        for source in merged:
            for name, value in self._read_merged(source, loc):
                values.setdefault(name, value)
        return values

    def _read_merged(self, node: yaml.Node, loc: Loc) -> Iterator[tuple[str, object]]:
        """Yield the entries that `<<` merges, with the lines where they were written."""
        if not isinstance(node, yaml.MappingNode):
            line = node.start_mark.line + 1
            self.document.problems.append((None, line, "<< takes a mapping or a list of mappings"))
            return
        own = self.document.lines
        self.document.lines = {}
        content = self.read(node, loc)
        for place, line in self.document.lines.items():
            own.setdefault(place, line)
        self.document.lines = own
        if isinstance(content, dict):
            yield from content.items()
