"""A parameter that a run cannot have is told in one line, with the nearest name."""

import pytest

from coattend.errors import CoattendError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"benchmarks": {"sample": {"training": {"epoch": 2}}}},
            r"benchmarks\.sample\.training\.epoch: there .*'epochs'\?",
        ),
        ({"benchmarks": {"sample": {"fil_blanks": True}}}, r"benchmarks\.sample\.fil_blanks: there .*'fill_blanks'\?"),
        ({"benchmarks": {"sample": {"training": {"epochs": -1}}}}, r"training\.epochs: Input should be greater than 0"),
        ({"benchmarks": {"sample": {"training": {"seeds": [1, 1]}}}}, r"training\.seeds: seeds must differ"),
        ({"training": {"epochs": 2}}, r"--params training: there is no .* Say whose: benchmarks\.<name>\.training"),
    ],
)
def test_a_parameter_that_cannot_be_is_told_in_one_line(kedro_run, given, message):
    with pytest.raises(CoattendError, match=message) as told:
        kedro_run("ingestion", "sample", **given)
    assert "\n" not in told.value.message


def test_a_pipeline_that_is_not_run_for_a_benchmark_says_for_which(kedro_run):
    with pytest.raises(
        CoattendError,
        match=r"no namespace 'sample.plain' in the pipelines submission. They are run for: recam, .*squad_v1",
    ):
        kedro_run("submission", "sample.plain")
