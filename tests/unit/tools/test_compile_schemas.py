import pytest

import compile_schemas
from bifrost.jars.errors import JarError


@pytest.fixture
def wire(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_schemas, "_WIRE", tmp_path)
    monkeypatch.setattr(compile_schemas, "write_all", lambda: {"schemas.json": "one\ntwo\n", "a.py": "x\n"})
    return tmp_path


def test_files_are_written_and_named(wire, capsys):
    assert compile_schemas.main([]) == 0

    assert (wire / "schemas.json").read_text() == "one\ntwo\n"
    assert capsys.readouterr().out == "wrote schemas.json\nwrote a.py\n"


def test_fresh_files_are_left_alone(wire, capsys):
    compile_schemas.main([])
    written_at = (wire / "a.py").stat().st_mtime_ns
    capsys.readouterr()

    assert compile_schemas.main([]) == 0

    assert (wire / "a.py").stat().st_mtime_ns == written_at
    assert capsys.readouterr().out == "nothing to write: every file is fresh\n"


def test_the_check_names_what_differs_and_writes_nothing(wire, capsys):
    compile_schemas.main([])
    (wire / "schemas.json").write_text("one\n2\n")

    assert compile_schemas.main(["--check"]) == 1

    expected = "schemas.json is not what Kafka's jars say, from line 2 on: run `make schemas`\n"
    assert capsys.readouterr().err == expected
    assert (wire / "schemas.json").read_text() == "one\n2\n"


def test_the_check_sees_a_missing_file_and_a_missing_last_newline(wire, capsys):
    (wire / "a.py").write_text("x")

    assert compile_schemas.main(["--check"]) == 1

    assert capsys.readouterr().err.count("is not what Kafka's jars say") == 2


def test_the_check_is_silent_about_fresh_files(wire, capsys):
    compile_schemas.main([])
    capsys.readouterr()

    assert compile_schemas.main(["--check"]) == 0

    assert capsys.readouterr() == ("", "")


def test_a_missing_jar_is_one_line(monkeypatch, capsys):
    def write_all():
        raise JarError("cannot download kafka-clients")

    monkeypatch.setattr(compile_schemas, "write_all", write_all)

    assert compile_schemas.main([]) == 1
    assert capsys.readouterr().err == "error: cannot download kafka-clients\n"
