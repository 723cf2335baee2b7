from http import HTTPStatus

from bifrost.control.problem import ProblemDocument
from bifrost.control.resources.context import OF_ALL, problems


def test_an_operation_has_its_own_errors_and_those_of_all() -> None:
    found = problems(HTTPStatus.NOT_FOUND)

    assert set(found) == {404, *map(int, OF_ALL)}
    assert found[404] == {"model": ProblemDocument, "description": "Not Found"}
