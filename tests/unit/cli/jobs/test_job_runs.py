from pathlib import Path

import pytest
import typer

from bifrost.cli.jobs.job_runs import client_properties, run_job
from bifrost.pipeline.errors import PipelineError


def test_an_error_of_a_job_is_one_line_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    def job() -> None:
        raise PipelineError("no broker")

    with pytest.raises(typer.Exit) as ended:
        run_job(job)

    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == "error: no broker\n"


def test_a_malformed_file_of_properties_is_named_without_its_content(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("password")

    with pytest.raises(typer.BadParameter, match="line 1") as caught:
        client_properties(path)

    assert "password" not in caught.value.message
    assert client_properties(None) == {}
