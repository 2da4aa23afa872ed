"""The page of two trials: their numbers, and in a real browser the list of their questions."""

import json
import re

import pyarrow as pa
import pytest

from coattend.evaluation.paired import WINNERS, SideBySide
from coattend.reports import trial_comparison
from coattend.schemas import COMPARED

HOSTILE = "</script><script>document.title = 'taken'</script><b>x</b>"
COUNT = 10_000
TRIAL = {
    "trial_id": "0123",
    "reader": "plain",
    "head": "options",
    "benchmark": "dream",
    "seed": 0,
    "encoder": "embedded",
    "encoder_files": {"digest": "aa", "dropout": 0.0},
    "options": {"pooling": "mean"},
    "training": {"epochs": 2.0},
    "data": "0123456789",
    "source": "0123456789",
    "questions": 5,
    "seconds": 9.0,
    "parameters": 7,
    "device": "cpu",
    "precision": "fp32",
    "tagger": "nltk",
    "selection": "held_out",
}
TRIALS = {"left": TRIAL, "right": TRIAL | {"trial_id": "4567", "seed": 1, "options": {"pooling": HOSTILE}}}


def question_row(number):
    winner = WINNERS[number % 4]
    return {
        "question_id": f"q{number}",
        "passage_id": f"p{number // 10}",
        "group": f"p{number // 10}",
        "split": "dev" if number % 5 else "test",
        "subset": None,
        "question": f"Where is the boat number {number}?" if number else HOSTILE,
        "gold": ["At sea.", HOSTILE],
        "left_answer": None if winner == "neither" else "At sea.",
        "right_answer": "",
        "left_mark": float(winner in ("left", "both")),
        "right_mark": float(winner in ("right", "both")),
        "winner": winner,
    }


def render(count, most_listed):
    table = pa.Table.from_pylist([question_row(number) for number in range(count)], schema=COMPARED)
    answers = SideBySide("options", table, {})
    passages = {f"p{number}": f"Passage {number}. {HOSTILE}" for number in range(count // 10)}
    contests = trial_comparison.compare_trials(answers)
    return trial_comparison.render_html("Two", answers, contests, TRIALS, passages, most_listed=most_listed)


@pytest.fixture(scope="module")
def page():
    """A page of 10,000 questions."""
    return render(COUNT, COUNT)


@pytest.fixture
def write_page(page, tmp_path):
    """Writes the page with a script at its end, and returns its address."""

    def write(script=""):
        (tmp_path / "index.html").write_text(f"{page}<script>{script}</script>")
        return (tmp_path / "index.html").as_uri()

    return write


def drawn_rows(document):
    return len(re.findall(r"<li ", document))


def counts_in(document):
    """Numbers of matching questions and of all questions."""
    return re.search(r'class="found"[^>]*>([\d,]+) of ([\d,]+)', document).groups()


def test_questions_that_only_one_trial_answered_correctly_are_listed_first():
    table = pa.Table.from_pylist([question_row(number) for number in range(100)], schema=COMPARED)
    winners = trial_comparison.listed_questions(table, 60)["winner"].to_pylist()
    assert (winners.count("left"), winners.count("right"), len(winners)) == (25, 25, 60)
    assert "40 more questions" in render(100, 60)


def test_the_page_has_its_questions_as_data_and_escapes_texts(page):
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert data["rows"]["question_id"] == [f"q{number}" for number in range(COUNT)]
    assert len(data["passages"]) == COUNT // 10
    assert not data["graded"]
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "Left is plain with seed 0, Right is plain with seed 1." in without_scripts
    assert "<form hidden>" in without_scripts
    assert "<b>" not in without_scripts
    # Its links lead to other pages alone.
    assert not re.search(r'src="|<(?!a )[^>]* href="', without_scripts)
    assert re.findall(r'href="([^"]*)"', without_scripts) == ["../../index.html"]


def test_settings_that_differ_are_apart_from_those_that_are_the_same():
    sections = trial_comparison.trial_sections([], TRIALS, "options", {"test": 5})
    trials = next(section for section in sections if section.title == "The trials")
    differing = {row[0].text: [cell.text for cell in row[1:]] for row in trials.tables[1].rows}
    assert differing == {"pooling": ["mean", HOSTILE], "seed": ["0", "1"]}
    same = {row[0].text for row in trials.folded[0].rows}
    assert {"encoder.dropout", "training.epochs", "code of the reader, digest"} <= same
    assert any("5 questions of test are left out" in sentence for sentence in sections[-1].text)


def test_the_first_line_says_whose_checkpoint_was_chosen_on_dev():
    trials = TRIALS | {"right": TRIALS["right"] | {"selection": "dev"}}
    first, *_ = trial_comparison.trial_sections([], trials, "options", {})
    assert first.text[0] == "The checkpoint of Right was chosen on dev of dream, so its score there is too good."
    assert trial_comparison.trial_sections([], TRIALS, "options", {})[0].text[0].startswith("Left is plain")


@pytest.mark.slow
def test_ten_thousand_questions_are_drawn_as_they_are_scrolled_to(write_page, dumped):
    document = dumped(write_page())
    assert counts_in(document) == ("10,000", "10,000")
    assert 50 <= drawn_rows(document) < 500
    assert "<title>Two</title>" in document
    assert "document.title = 'taken'</script>" not in re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fragment", "matches"),
    [
        ("#text=number+77%3F", lambda row: row["question_id"] == "q77"),
        ("#correct=left&text=NUMBER+12", lambda row: row["winner"] == "left" and "number 12" in row["question"]),
        ("#correct=left&split=test", lambda row: row["winner"] == "left" and row["split"] == "test"),
        ("#split=dev", lambda row: row["split"] == "dev"),
        ("#text=nowhere", lambda row: False),
        ("#submit=1&correct=neither&strange=2", lambda row: row["winner"] == "neither"),
    ],
)
def test_the_address_filters_the_list(write_page, dumped, fragment, matches):
    expected = sum(matches(question_row(number)) for number in range(COUNT))
    document = dumped(write_page() + fragment)
    assert counts_in(document)[0] == f"{expected:,}"
    assert drawn_rows(document) == expected if expected <= 50 else 50 <= drawn_rows(document) < 500


@pytest.mark.slow
def test_typing_and_choosing_filter_and_a_button_shows_more(write_page, dumped):
    script = """
    const { correct, text } = document.querySelector("#questions form").elements;
    correct.value = "both";
    text.value = "number 12";
    text.dispatchEvent(new InputEvent("input", { bubbles: true }));
    while (!document.querySelector("#questions button").hidden) document.querySelector("#questions button").click();
    document.body.append(location.hash);
    """
    rows = map(question_row, range(COUNT))
    expected = sum(row["winner"] == "both" and "number 12" in row["question"] for row in rows)
    document = dumped(write_page(script))
    assert drawn_rows(document) == expected
    assert "#correct=both&amp;text=number+12" in document


@pytest.mark.slow
def test_a_question_that_is_opened_shows_its_passage_once(write_page, dumped):
    script = 'for (const n of [1, 2, 3]) document.querySelectorAll("#questions details")[7].open = n % 2;'
    document = dumped(write_page(script))
    assert re.findall(r'class="passage">(Passage \d+\.)', document) == ["Passage 0."]
    assert "gave none ✗" in document
    assert "no answer ✗" in document
