import json

from unit.cli.admin.conftest import Run


def test_namespaces_are_created_listed_and_deleted(run: Run) -> None:
    assert run("namespaces", "create", "acme:a:b") == (0, "created acme:a\ncreated acme:a:b\n", "")
    assert run("namespaces", "list", "acme") == (
        0,
        "acme:a\t1\tAdmin:alice\t1970-01-01T00:00:01Z\nacme:a:b\t1\tAdmin:alice\t1970-01-01T00:00:01Z\n",
        "",
    )
    assert run("namespaces", "delete", "acme:a", "--recursive", "--dry-run") == (
        0,
        "would delete namespace acme:a\nwould delete namespace acme:a:b\n",
        "",
    )
    assert (
        run("namespaces", "delete", "acme:a", "--recursive")[1]
        == "deleted namespace acme:a\ndeleted namespace acme:a:b\n"
    )
    assert run("namespaces", "list")[1] == "acme\t\tconfiguration\t\nglobex\t\tconfiguration\t\n"


def test_a_refusal_is_status_1_with_the_reason(run: Run) -> None:
    status, output, errors = run("namespaces", "delete", "acme:nowhere")

    assert (status, output) == (1, "")
    assert errors.startswith("error: InvalidNamespace: namespace acme:nowhere does not exist; ")


def test_json_is_what_the_api_answers(run: Run) -> None:
    assert json.loads(run("namespaces", "create", "acme:a", "--json")[1]) == {"created": ["acme:a"]}
    assert [one["name"] for one in json.loads(run("namespaces", "list", "--json")[1])["namespaces"]] == [
        "acme",
        "acme:a",
        "globex",
    ]
    assert json.loads(run("namespaces", "delete", "acme:a", "--json")[1])["namespaces"] == ["acme:a"]
