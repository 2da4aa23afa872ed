"""Runs of Kedro's services, which never make the session and never call the command of a project."""

import pytest
from kedro.framework.project import pipelines
from kedro.framework.session import KedroServiceSession
from kedro.framework.startup import bootstrap_project

from coattend.errors import CoattendError


@pytest.fixture
def service(project):
    bootstrap_project(project)
    with KedroServiceSession.create(project_path=project, env="test") as session:
        yield session


def test_a_service_runs_and_is_checked_as_a_command_is(service, project):
    service.run(pipeline_names=["ingestion"], namespaces=["sample"])
    assert (project / "data/test/02_intermediate/sample/questions.parquet").is_file()
    with pytest.raises(CoattendError, match=r"Did you mean 'benchmarks'\?"):
        service.run(pipeline_names=["ingestion"], namespaces=["sample"], runtime_params={"benchmark": {}})
    with pytest.raises(CoattendError, match=r"training\.epoch: there is no such parameter. Did you mean 'epochs'\?"):
        params = {"benchmarks": {"sample": {"training": {"epoch": 2}}}}
        service.run(pipeline_names=["ingestion"], namespaces=["sample"], runtime_params=params)
    with pytest.raises(
        CoattendError, match=r"Write it first: kedro run --env test --pipelines ingestion,tagging,tokenization"
    ):
        service.run(pipeline_names=["training"], namespaces=["sample.plain"])
    with pytest.raises(CoattendError, match="the pipelines are built for 'minilm_4'"):
        params = {"readers": {"plain": {"encoder": "albert_base"}}}
        service.run(pipeline_names=["training"], namespaces=["sample.plain"], runtime_params=params)


def test_the_server_answers_runs(project):
    from fastapi.testclient import TestClient
    from kedro.server.http_server import create_http_server

    with TestClient(create_http_server(project, env="test")) as client:
        run = {"pipeline_names": ["ingestion"], "namespaces": ["sample"]}
        answer = client.post("/run", json=run).json()
        assert answer["status"] == "success", answer
        answer = client.post("/run", json=run | {"params": {"readers": {"poinet": {}}}}).json()
        assert "Did you mean 'poi_net'?" in answer["error"]["message"]
        names = {pipeline["name"] for pipeline in client.get("/snapshot").json()["pipelines"]}
    assert names == set(pipelines)


def test_a_server_of_an_environment_has_the_tables_of_its_encoders(project):
    bootstrap_project(project)
    with KedroServiceSession.create(project_path=project, env="paper", serving_mode=True) as session:
        session.load_context()
        reader = next(node for node in pipelines["training"].nodes if node.name == "dream.poi_net.train")
        assert "dream.nltk_penn.albert.tokens" in reader.inputs
