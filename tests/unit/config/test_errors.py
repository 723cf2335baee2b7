from bifrost.config.errors import ConfigError, Problem


def test_a_problem_prints_as_file_line_and_text() -> None:
    assert str(Problem("a/b.yaml", 7, "wrong: mend it")) == "a/b.yaml:7: wrong: mend it"
    assert str(Problem("a/b.yaml", None, "no such file")) == "a/b.yaml: no such file"


def test_a_problem_is_one_printable_line() -> None:
    assert str(Problem("a\nb", 7, "\x1b[31m ä\u202e")) == "a\\nb:7: \\x1b[31m ä\\u202e"


def test_an_error_has_all_problems_in_the_order_of_the_file() -> None:
    later, earlier, whole = Problem("f", 10, "later"), Problem("f", 9, "earlier"), Problem("f", None, "whole")

    error = ConfigError(iter([later, earlier, whole]))

    assert error.problems == (whole, earlier, later)
    assert str(error) == "f: whole\nf:9: earlier\nf:10: later"
