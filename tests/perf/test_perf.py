"""What is measured can be run: small sizes, no judgement of speed."""

from perf import data_stages, scale, training


def test_training_finds_its_questions(kedro_run, project):
    """The sample's tables in the place of DREAM's."""
    kedro_run("ingestion,tagging,tokenization", "sample", benchmarks={"sample": {"fill_blanks": False}})
    data = project / "data" / "test"
    for folder in ("02_intermediate", "05_model_input"):
        (data / folder / "sample").rename(data / folder / "dream")
    examples, collator = training.load(data)
    assert 0 < training.real_tokens(examples, collator) <= 1


def test_the_released_way_and_ours(raw):
    pairs = data_stages.read_pairs(raw, "dream")
    assert len(pairs) == 24_468
    found = data_stages.measure(pairs[:60], timed=10, workers=1)
    assert found["pairs"] == 60 and found["times_faster"] > 0


def test_the_sample_of_any_size():
    found = scale.main(["--passages", "30", "60"])
    assert set(found["passages"]) == {"30", "60"}
    assert len(found["peak_beside_the_first"]) == 1
