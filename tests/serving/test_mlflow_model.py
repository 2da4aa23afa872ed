"""`mlflow models serve` over HTTP, with the readers that evaluation logged; and the same models in this process."""

import json
import re
import sys
from pathlib import Path

import pytest
from served import free_port, post, running

PASSAGE = "The lamp is in the hall. Mary carried the sofa to the attic."
QUESTION = {"passage": PASSAGE, "question": "Where is the sofa?"}
OPTIONS = ["In the hall.", "In the attic."]


def serving(trained_sample, runs, reader):
    port = free_port()
    command = [str(Path(sys.executable).parent / "mlflow"), "models", "serve", "--env-manager", "local"]
    command += ["-m", f"runs:/{runs[reader]}/model", "--host", "127.0.0.1", "--port", str(port)]
    return running(command, port, trained_sample)


@pytest.fixture(scope="module")
def options_server(trained_sample, runs):
    with serving(trained_sample, runs, "poi_net") as (address, _):
        yield address


@pytest.fixture(scope="module")
def span_server(trained_sample, runs):
    with serving(trained_sample, runs, "plain_span") as (address, _):
        yield address


def forms(rows):
    """The ways in which MLflow takes rows."""
    names = list(rows[0])
    yield {"inputs": rows}
    yield {"dataframe_records": rows}
    yield {"dataframe_split": {"columns": names, "data": [[row[name] for name in names] for row in rows]}}
    if len(rows) == 1:
        yield {"inputs": rows[0]}


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_options_are_answered_as_by_the_pipeline(options_server, predict, runs, count):
    rows = [
        {"passage": PASSAGE, "question": f"Where is the {noun}?", "options": OPTIONS}
        for noun in ("sofa", "lamp", "ünï")
    ]
    expected = predict(runs["poi_net"], rows[:count], "served")
    for body in forms(rows[:count]):
        status, response = post(options_server, body)
        assert status == 200, response
        assert response["predictions"] == [
            {name: answer[name] for name in response["predictions"][0]} for answer in expected
        ]
        assert {"answer", "label", "choices", "probabilities", "evidence", "null_score"} <= set(
            response["predictions"][0]
        )


@pytest.mark.slow
def test_spans_are_answered_as_by_the_pipeline(span_server, predict, runs):
    rows = [QUESTION, QUESTION | {"question": "Who carried it?"}]
    expected = predict(runs["plain_span"], rows, "served_spans")
    for body in (*forms(rows), *forms(rows[:1])):
        status, response = post(span_server, body)
        assert status == 200, response
        for answer, expected_answer in zip(response["predictions"], expected, strict=False):
            assert answer == {name: expected_answer[name] for name in answer}


@pytest.mark.slow
def test_what_the_model_refuses_is_a_clear_4xx(options_server):
    complete = QUESTION | {"options": OPTIONS}
    refused = [
        (complete | {"passage": "a " * 60_000}, "question 1: the passage has 120,000 characters, more than 100,000"),
        (complete | {"options": ["a"] * 101}, "question 1: has 101 options, more than 100"),
        (QUESTION, "question 1: has no options, and this reader chooses one of them"),
        (complete | {"passage": ""}, "question 1: the passage is empty"),
        ({"question": "Where?", "options": OPTIONS}, "Model is missing inputs ['passage']"),
        (complete | {"options": "one"}, "Expected data to be list"),
    ]
    for row, message in refused:
        status, response = post(options_server, {"dataframe_records": [row]})
        if "Expected data" in message:
            status, response = post(options_server, {"inputs": row})
        assert status == 400
        assert message in response["message"]
    status, response = post(options_server, {"dataframe_records": [complete, complete | {"options": ["a"]}]})
    assert status == 400
    assert "question 2: has one option only" in response["message"]
    assert post(options_server, b"{")[0] == 400


@pytest.mark.parametrize("reader", ["poi_net", "plain_span", "aoa_reader"])
def test_a_logged_model_has_a_signature_an_example_and_a_card_that_loads_it(
    trained_sample, predict, runs, reader, monkeypatch
):
    import mlflow

    monkeypatch.chdir(trained_sample)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)  # MLflow sets it.
    try:
        mlflow.set_tracking_uri("sqlite:///mlflow.db")
        folder = Path(mlflow.artifacts.download_artifacts(f"runs:/{runs[reader]}/model"))
        info = mlflow.models.get_model_info(str(folder))
        assert info.signature.inputs.input_names() == ["passage", "question", "options"]
        assert info.signature.inputs.required_input_names() == ["passage", "question"]
        assert "probabilities" in info.signature.outputs.input_names()
        example = json.loads((folder / "input_example.json").read_text())
        row = dict(zip(example["columns"], example["data"][0], strict=True))
        # Three lines load it and ask it.
        card = (folder / "README.md").read_text()
        (code,) = re.findall(r"```python\n(.*?)\n```", card, re.DOTALL)
        *first, last = code.splitlines()
        assert len(first) == 2
        namespace = {}
        exec("\n".join(first), namespace)
        (answer,) = eval(last, namespace)
        (expected,) = predict(runs[reader], [row], f"example_{reader}")
        assert answer == {name: expected[name] for name in answer}
    finally:
        mlflow.set_tracking_uri(None)
    suffixes = {file.suffix for file in folder.rglob("*") if file.is_file()}
    assert not suffixes & {".pkl", ".pickle", ".pt", ".bin", ".joblib"}
