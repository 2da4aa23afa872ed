"""The list of two trials' questions in a real browser: what is filtered, how much is drawn, hostile text."""

import re

import pyarrow as pa
import pytest

from coattend.evaluation.side_by_side import WINNERS, SideBySide
from coattend.reporting import html_page, question_list, trial_comparison, trials_page
from coattend.tables import COMPARED

pytestmark = pytest.mark.slow

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


def row(number):
    winner = WINNERS[number % 4]
    return {
        "question_id": f"q{number}",
        "passage_id": f"p{number // 10}",
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


@pytest.fixture(scope="module")
def text():
    """A page of 10,000 questions."""
    table = pa.Table.from_pylist([row(number) for number in range(COUNT)], schema=COMPARED)
    trials = {"left": TRIAL, "right": TRIAL | {"trial_id": "4567", "seed": 1, "options": {"pooling": HOSTILE}}}
    contests = trial_comparison.contests(SideBySide("options", table, {}))
    passages = {f"p{number}": f"Passage {number}. {HOSTILE}" for number in range(COUNT // 10)}
    listed = question_list.render(table, passages, graded=False, most=COUNT)
    return html_page.page("Two", trials_page.sections(contests, trials, "options", {}), listed)


@pytest.fixture
def page(text, tmp_path):
    """Writes the page, with a script at its end that uses it, and gives its address."""

    def write(script=""):
        (tmp_path / "index.html").write_text(f"{text}<script>{script}</script>")
        return (tmp_path / "index.html").as_uri()

    return write


def rows_in(shown):
    return len(re.findall(r"<li ", shown))


def found_in(shown):
    return re.search(r'class="found"[^>]*>([\d,]+) of ([\d,]+)', shown).groups()


def test_ten_thousand_questions_are_drawn_as_they_are_looked_at(page, dumped):
    shown = dumped(page())
    assert found_in(shown) == ("10,000", "10,000")
    assert 50 <= rows_in(shown) < 500
    assert "<title>Two</title>" in shown
    assert "document.title = 'taken'</script>" not in re.sub(r"<script.*?</script>", "", shown, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("#text=number+77%3F", lambda one: one["question_id"] == "q77"),
        ("#correct=left&text=NUMBER+12", lambda one: one["winner"] == "left" and "number 12" in one["question"]),
        ("#correct=left&split=test", lambda one: one["winner"] == "left" and one["split"] == "test"),
        ("#split=dev", lambda one: one["split"] == "dev"),
        ("#text=nowhere", lambda one: False),
        ("#submit=1&correct=neither&strange=2", lambda one: one["winner"] == "neither"),
    ],
)
def test_what_the_address_asks_for_is_shown(page, dumped, address, wanted):
    expected = sum(wanted(row(number)) for number in range(COUNT))
    shown = dumped(page() + address)
    assert found_in(shown)[0] == f"{expected:,}"
    assert rows_in(shown) == expected if expected <= 50 else 50 <= rows_in(shown) < 500


def test_typing_and_choosing_filter_and_more_is_shown_on_request(page, dumped):
    use = """
    const { correct, text } = document.querySelector("#questions form").elements;
    correct.value = "both";
    text.value = "number 12";
    text.dispatchEvent(new InputEvent("input", { bubbles: true }));
    while (!document.querySelector("#questions button").hidden) document.querySelector("#questions button").click();
    document.body.append(location.hash);
    """
    expected = sum(one["winner"] == "both" and "number 12" in one["question"] for one in map(row, range(COUNT)))
    shown = dumped(page(use))
    assert rows_in(shown) == expected
    assert "#correct=both&amp;text=number+12" in shown


def test_a_question_that_is_opened_shows_its_passage_once(page, dumped):
    opened = 'for (const one of [1, 2, 3]) document.querySelectorAll("#questions details")[7].open = one % 2;'
    shown = dumped(page(opened))
    assert re.findall(r'class="passage">(Passage \d+\.)', shown) == ["Passage 0."]
    assert "gave none ✗" in shown
    assert "no answer ✗" in shown


def test_more_questions_than_are_listed_keep_those_that_one_alone_answered():
    table = pa.Table.from_pylist([row(number) for number in range(100)], schema=COMPARED)
    html = question_list.render(table, {}, graded=False, most=60)
    assert "40 more questions stand in the table alone" in html
    rows = question_list.listed(table, 60)["winner"].to_pylist()
    assert (rows.count("left"), rows.count("right"), len(rows)) == (25, 25, 60)


def test_the_summary_stands_in_the_file_without_scripts(text):
    still = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "Left is plain with seed 0, Right is plain with seed 1." in still
    assert "McNemar’s exact p" in still
    assert "<noscript><p>The list needs JavaScript" in still
    assert "<form hidden>" in still
    assert not re.search(r'(src|href)="', text)
