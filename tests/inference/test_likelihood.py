"""Questions are answered by the option that a language model finds likeliest, as a slow second implementation and
lm-evaluation-harness do."""

import json
import shutil
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
import torch
from perf.likelihood import write_task
from transformers import AutoModelForCausalLM, AutoTokenizer

from coattend.config import BenchmarkParameters, ReaderParameters, TaggingParameters
from coattend.errors import CoattendError
from coattend.evaluation.calibration import probabilities
from coattend.inference.likelihood import LikelihoodTables, OptionLikelihood
from coattend.readers.encoders.language_model import LanguageModel
from coattend.readers.prompts import write_prompt
from coattend.schemas import PASSAGES
from coattend.schemas import QUESTIONS as QUESTIONS_SCHEMA
from coattend.serving.predictor import Predictor, Query
from coattend.serving.preprocessor import pack
from coattend.serving.queries import InvalidQuery
from coattend.text.cloze import BLANK
from experiments import SAMPLE, write_language_model

QUESTIONS = 200
"""Questions of each real benchmark that are compared with the harness."""


@pytest.fixture
def asked(sample, language_model, tmp_path):
    """Make a reader of the sample's questions with options; its trials lie in a folder of the test."""

    def make(training=None, *, model=language_model, task="options", seeds=(0,), **options):
        benchmark = BenchmarkParameters(**SAMPLE | {"tasks": [task], "words_as_options": True})
        reader = ReaderParameters(
            name="mine",
            reader="option_likelihood",
            training={"max_length": 1024, "precision": "fp32", "seeds": list(seeds), **(training or {})},
            options=options | ({} if model is None else {"model": str(model)}),
        )
        tables = LikelihoodTables(sample.questions, sample.passages, benchmark)
        return OptionLikelihood(tables, reader, TaggingParameters(), tmp_path / "trials")

    return make


def test_windows_are_refused_with_the_way_out(asked):
    with pytest.raises(CoattendError, match=r"log probabilities.*readers\.mine\.training\.over_windows to null"):
        asked({"over_windows": "max"}).answer_all()
    assert asked({"over_windows": None}).training.over_windows is None


@pytest.fixture(scope="module")
def log_probability(language_model):
    """A slow second implementation: a text behind another one, alone."""
    model = AutoModelForCausalLM.from_pretrained(language_model).double()
    tokenizer = AutoTokenizer.from_pretrained(language_model)

    def compute(context, text):
        first, ids = len(tokenizer(context)["input_ids"]), tokenizer(context + text)["input_ids"]
        with torch.inference_mode():
            log_p = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        return sum(float(log_p[i - 1, ids[i]]) for i in range(first, len(ids))), len(ids) - first

    return compute


def texts_of(row, passage, answer_by):
    """What stands before the options of a row, and the options."""
    before = f"Passage: {passage}\n\n"
    if answer_by == "letter":
        listed = "".join(f"{letter}. {option}\n" for letter, option in zip("ABCDE", row["options"], strict=False))
        return (
            before,
            f"Question: {row['question']}\n{listed}Answer:",
            [f" {x}" for x in "ABCDE"[: len(row["options"])]],
        )
    blank = BLANK.search(row["question"])
    if blank is None:
        return before, f"Question: {row['question']}\nAnswer:", [f" {option}" for option in row["options"]]
    start, end = row["question"][: blank.start()].rstrip(), row["question"][blank.end() :].rstrip()
    return before, f"Statement: {start}", [f" {option}{end}" for option in row["options"]]


@pytest.mark.parametrize(
    ("normalise", "answer_by", "task"),
    [
        ("none", "text", "options"),
        ("characters", "text", "options"),
        ("tokens", "text", "options"),
        ("prior", "text", "options"),
        ("none", "letter", "options"),
        ("characters", "text", "word"),
    ],
)
def test_scores_are_those_of_options_asked_alone(asked, sample, log_probability, normalise, answer_by, task):
    (outcome,), predictions, rejected = asked(task=task, normalise=normalise, answer_by=answer_by).answer_all()
    rows = {row["question_id"]: row for row in sample.rows(task, "dev").to_pylist()}
    passages = sample.passage_of(sample.rows(task, "dev"))
    assert not len(rejected)
    assert (outcome["trained"], outcome["failure"], outcome["questions"]) == (False, None, len(rows))
    assert set(predictions["question_id"].to_pylist()) == set(rows)
    for prediction in predictions.to_pylist()[::5]:
        row = rows[prediction["question_id"]]
        passage, question, continuations = texts_of(row, passages[row["question_id"]], answer_by)
        expected = []
        for text in continuations:
            value, tokens = log_probability(passage + question, text)
            divided = {"characters": len(text) - 1, "tokens": tokens}.get(normalise, 1)
            prior = log_probability(question, text)[0] if normalise == "prior" else 0.0
            expected.append((value - prior) / divided)
        assert prediction["scores"] == pytest.approx(expected, abs=1e-4)
        assert prediction["label"] == int(np.argmax(expected))
        assert prediction["prediction"] == row["options"][prediction["label"]]
        assert prediction["correct"] == (prediction["label"] == row["label"])


def test_examples_are_training_questions_that_a_seed_draws(asked, sample):
    reader = asked(shots=2, seeds=(0, 1))
    outcomes, predictions, _ = reader.answer_all()
    assert [outcome["seed"] for outcome in outcomes] == [0, 1]
    assert len(set(predictions["trial_id"].to_pylist())) == len({outcome["data"] for outcome in outcomes}) == 2
    assert reader.answer_all()[1].equals(predictions)
    train = sample.rows("options", "train")
    contexts = {
        write_prompt(reader._inquiry(row, passage)).context
        for row, passage in zip(train.to_pylist(), sample.passage_of(train).values(), strict=True)
    }
    drawn = [reader._examples(seed, set()) for seed in (0, 1)]
    assert all(prompt.context in contexts for examples in drawn for prompt, _ in examples)
    # A group of passages that is scored, too, shows none of its training questions.
    groups = set(train["group"].to_pylist())
    free = set(sorted(groups)[:3])
    shown = reader._examples(0, groups - free)
    passages = sample.passage_of(train.filter(pc.is_in(train["group"], pa.array(sorted(free)))))
    assert {prompt.context.partition("\n\n")[0] for prompt, _ in shown} <= {
        f"Passage: {text}" for text in passages.values()
    }
    with pytest.raises(CoattendError, match=r"shots: is 2, and train has 0 passages"):
        reader._examples(0, groups)
    # Without examples seeds make no difference.
    assert len(asked(seeds=(0, 1)).answer_all()[0]) == 1


def test_a_finished_trial_is_not_asked_again_wherever_its_model_lies(asked, language_model, tmp_path, monkeypatch):
    (outcome,), predictions, _ = asked().answer_all()
    moved = shutil.copytree(language_model, tmp_path / "moved")
    monkeypatch.setattr(LanguageModel, "load", None)
    (again,), same, _ = asked(model=moved).answer_all()
    assert again == outcome
    assert same.equals(predictions)
    (tmp_path / "moved" / "tokenizer_config.json").write_text("{}")
    with pytest.raises(TypeError):
        asked(model=moved).answer_all()


def test_a_long_passage_is_cut_and_a_long_question_left_out(asked, sample):
    _, predictions, rejected = asked({"max_length": 80}).answer_all()
    assert not len(rejected)
    _, whole, _ = asked().answer_all()
    read = dict(zip(predictions["question_id"].to_pylist(), predictions["scores"].to_pylist(), strict=True))
    differ = [row["question_id"] for row in whole.to_pylist() if read.get(row["question_id"]) != row["scores"]]
    assert 0 < len(differ) < len(whole)
    _, predictions, rejected = asked({"max_length": 24}).answer_all()
    assert len(predictions) + len(rejected) == len(whole)
    assert "its prompt leaves no room for a passage in 24 tokens" in rejected["reason"].to_pylist()


@pytest.mark.parametrize(
    ("task", "options"),
    [("options", {"normalise": "prior"}), ("options", {"shots": 2}), ("word", {"normalise": "none"})],
)
def test_it_is_asked_as_it_was_scored(asked, sample, tmp_path, task, options):
    (outcome,), predictions, _ = asked(task=task, **options).answer_all()
    pack(tmp_path / "trials" / outcome["trial_id"], tmp_path / "packed")
    rows = {row["question_id"]: row for row in sample.rows(task, "dev").to_pylist()}
    passages = sample.passage_of(sample.rows(task, "dev"))
    for folder in (tmp_path / "trials" / outcome["trial_id"], tmp_path / "packed"):
        predictor = Predictor.load(folder)
        for prediction in predictions.to_pylist()[:4]:
            row = rows[prediction["question_id"]]
            query = Query(passages[row["question_id"]], row["question"], tuple(row["options"]))
            answer = predictor.answer(query)
            assert (answer["answer"], answer["label"]) == (prediction["prediction"], prediction["label"])
            assert answer["probabilities"] == pytest.approx(probabilities(prediction["scores"], "likelihood"), abs=1e-4)
            assert answer["evidence"] == []
    long = Query("The lamp.", "who " * 1200 + ("_" if task == "word" else ""), ("a", "b"))
    refused = [(Query("The lamp.", "A _ ."), "has no options"), (long, "leaves no room for a passage")]
    for query, reason in refused:
        with pytest.raises(InvalidQuery, match=reason):
            predictor.answer(query)


def test_a_language_model_that_is_gone_or_another_is_refused_with_the_way_out(asked, language_model, tmp_path):
    model = shutil.copytree(language_model, tmp_path / "model")
    (outcome,), _, _ = asked(model=model).answer_all()
    trial = tmp_path / "trials" / outcome["trial_id"]
    (model / "tokenizer_config.json").write_text("{}")
    with pytest.raises(CoattendError, match=r"has other files than those that were scored.*Put its files there again"):
        Predictor.load(trial)
    shutil.rmtree(model)
    with pytest.raises(CoattendError, match=rf"language model '{model}' of trial.*Put its files there again"):
        Predictor.load(trial)


def test_without_a_model_the_error_says_how_to_name_one(asked):
    with pytest.raises(
        CoattendError, match=r"readers\.mine\.model: names no language model.*--params readers\.mine\.model="
    ):
        asked(model=None).answer_all()


def real_passages(raw, benchmark):
    """Passages of DREAM's or of RACE's dev with their questions: text, options, number of the right one."""
    if benchmark == "dream":
        for turns, questions, _ in json.loads((raw / "dream" / "dev.json").read_text()):
            yield "\n".join(turns), [(q["question"], q["choice"], q["choice"].index(q["answer"])) for q in questions]
        return
    with tarfile.open(raw / "race" / "RACE.tar.gz") as archive:
        for member in archive:
            if member.isfile() and "/dev/high/" in member.name:
                article = json.load(archive.extractfile(member))
                labels = ["ABCD".index(letter) for letter in article["answers"]]
                yield article["article"], list(zip(article["questions"], article["options"], labels, strict=True))


def real_tables(raw, benchmark):
    """Tables of the first questions of a benchmark."""
    questions, passages = [], []
    for number, (text, about) in enumerate(real_passages(raw, benchmark)):
        passages.append({"passage_id": f"p{number}", "text": text, "source": "dev"})
        for question, options, label in about[: QUESTIONS - len(questions)]:
            row = {"question_id": f"q{len(questions)}", "passage_id": f"p{number}", "group": f"p{number}"}
            row |= {"split": "dev", "task": "options", "question": question, "answerable": True}
            questions.append(dict.fromkeys(QUESTIONS_SCHEMA.names) | row | {"options": options, "label": label})
        if len(questions) == QUESTIONS:
            break
    entry = {"name": benchmark, "title": benchmark, "tasks": ["options"], "fill_blanks": benchmark == "race"}
    source = {"format": benchmark, "folder": benchmark, "files": {"dev": ["*"]}}
    return LikelihoodTables(
        pads.dataset(pa.Table.from_pylist(questions, QUESTIONS_SCHEMA)),
        pads.dataset(pa.Table.from_pylist(passages, PASSAGES)),
        BenchmarkParameters(**entry, sources=[source]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["dream", "race"])
def test_log_probabilities_and_choices_are_those_of_the_harness(benchmark, raw, tmp_path, sample, monkeypatch):
    """The harness runs the exported task of the same questions, with a model of random weights."""
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    tables, model = real_tables(raw, benchmark), tmp_path / "model"
    write_language_model(model, sample.texts.values())
    names = write_task(tables, tmp_path / "harness")
    results = lm_eval.simple_evaluate(
        model=HFLM(pretrained=str(model), device="cpu", dtype="float32", batch_size=8),
        tasks=names,
        task_manager=TaskManager(include_path=str(tmp_path / "harness"), include_defaults=False),
        bootstrap_iters=0,
    )
    (name,) = names
    samples = {found["doc"]["question_id"]: found for found in results["samples"][name]}
    assert len(samples) == QUESTIONS
    for normalise, metric in (("none", "acc"), ("characters", "acc_norm")):
        entry = {"model": str(model), "normalise": normalise}
        training = {"max_length": 2048, "precision": "fp32"}
        reader = ReaderParameters(name="mine", reader="option_likelihood", training=training, options=entry)
        _, predictions, rejected = OptionLikelihood(
            tables, reader, TaggingParameters(), tmp_path / "trials"
        ).answer_all()
        assert not len(rejected)
        for row in predictions.to_pylist():
            found = samples[row["question_id"]]
            expected = np.array([float(response[0][0]) for response in found["resps"]])
            if normalise == "characters":
                expected /= [len(text) for text in found["doc"]["choices"]]
            assert row["scores"] == pytest.approx(expected, abs=1e-4)
            assert row["label"] == np.argmax(expected)
            assert row["correct"] == found[metric]
        share = np.mean(predictions["correct"].to_numpy())
        assert results["results"][name][f"{metric},none"] == pytest.approx(share)
