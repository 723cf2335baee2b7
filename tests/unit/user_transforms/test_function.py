from pathlib import Path

import pytest

from bifrost.user_transforms.function import LoadError, load_function, place_of


def write(folder: Path, text: str) -> str:
    file = folder / "mine.py"
    file.write_text(text)
    return str(file)


def test_the_function_of_a_file_is_found(tmp_path: Path) -> None:
    function = load_function(write(tmp_path, "def transform(batch, context):\n    return batch\n"), None)

    assert function(1, None) == 1


def test_the_function_of_an_entry_point_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a package that is installed names it."""
    write(tmp_path, "def transform(batch, context):\n    return batch\n")
    about = tmp_path / "mine-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[bifrost.transforms]\nown = mine:transform\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert load_function(None, "own")(1, None) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1", "no function transform"),
        ("transform = 3", "no function transform"),
        ("x = 1\n1 / 0\n", "ZeroDivisionError in line 2 of mine.py"),
        ("def", "SyntaxError"),
        ("import nothing_like_it", "ModuleNotFoundError in line 1"),
        ("raise SystemExit(3)", "SystemExit"),
    ],
)
def test_what_cannot_be_loaded_is_told(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(LoadError, match=why):
        load_function(write(tmp_path, text), None)


def test_a_file_or_an_entry_point_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="FileNotFoundError"):
        load_function(str(tmp_path / "gone.py"), None)
    with pytest.raises(LoadError, match="ValueError"):
        load_function(None, "nothing-like-it")


def test_the_place_of_an_error_has_nothing_of_its_text(tmp_path: Path) -> None:
    file = write(tmp_path, "def transform(batch, context):\n    raise KeyError('secret')\n")
    function = load_function(file, None)
    with pytest.raises(KeyError) as caught:
        function(None, None)

    assert place_of(caught.value, file) == "KeyError in line 2 of mine.py"
    assert place_of(ValueError("secret"), file) == "ValueError"
