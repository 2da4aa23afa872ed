"""Prompts are the texts that people read, and what may follow them."""

import pytest

from coattend.readers.prompts import Inquiry, write_examples, write_prompt

PASSAGE = "W: The lamp is in the hall.\nM: Oh."
WHERE = Inquiry(PASSAGE, "Where is it? ", ("In the hall.", " At sea."))
FILLED = Inquiry(PASSAGE, "Anna saw the @placeholder , and left . ", ("lamp", "sea"), (13, 25))


def test_options_follow_the_question():
    prompt = write_prompt(WHERE)
    assert prompt.context == f"Passage: {PASSAGE}\n\nQuestion: Where is it?\nAnswer:"
    assert prompt.continuations == (" In the hall.", " At sea.")
    assert prompt.characters == (12, 7)
    assert prompt.tail == "Answer:"


def test_letters_follow_the_listed_options():
    prompt = write_prompt(WHERE, "letter")
    assert prompt.context == f"Passage: {PASSAGE}\n\nQuestion: Where is it?\nA. In the hall.\nB. At sea.\nAnswer:"
    assert prompt.continuations == (" A", " B")
    with pytest.raises(ValueError, match="has 27 options, and there are 26 letters"):
        write_prompt(Inquiry(None, "Who?", ("x",) * 27), "letter")


@pytest.mark.parametrize(
    ("question", "blank", "context", "continuation"),
    [
        (FILLED.question, FILLED.blank, "Statement: Anna saw the", " lamp , and left ."),
        ("_ is new.", (0, 1), "Statement:", " lamp is new."),
        ("It (_) is new.", (4, 5), "Statement: It (", "lamp) is new."),
    ],
)
def test_an_option_fills_the_blank_and_the_rest_is_scored_with_it(question, blank, context, continuation):
    prompt = write_prompt(Inquiry(PASSAGE, question, ("lamp",), blank))
    assert prompt.context == f"Passage: {PASSAGE}\n\n{context}"
    assert prompt.continuations == (continuation,)


def test_examples_stand_before_a_prompt_with_their_right_answers():
    without_passage = write_prompt(Inquiry(None, "Who?", ("Anna.",)))
    written = without_passage.behind(write_examples([(write_prompt(WHERE), 1), (write_prompt(FILLED), 0)]))
    assert written.context == (
        f"Passage: {PASSAGE}\n\nQuestion: Where is it?\nAnswer: At sea.\n\n"
        f"Passage: {PASSAGE}\n\nStatement: Anna saw the lamp , and left .\n\n"
        "Question: Who?\nAnswer:"
    )
