"""Tiny encoders and batches for the tests of readers."""

import random
from dataclasses import dataclass

import torch
import transformers

from coattend.readers.batch import Batch, Reward
from coattend.readers.encoders.words import Words

CLS, SEP, FIRST_WORD, VOCABULARY, TAGS = 2, 3, 5, 61, 39

WORDS = tuple(f"word{number}" for number in range(VOCABULARY - 3))

_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
_DEBERTA = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
_SPECIAL = {"pad_token_id": 0, "cls_token_id": CLS, "bos_token_id": CLS, "sep_token_id": SEP, "eos_token_id": SEP}


def encoder(family: str = "bert", *, layers: int = 2) -> transformers.PretrainedConfig | Words:
    """A configuration with two layers and 16 dimensions, or as many words."""
    sizes = _SIZES | {"num_hidden_layers": layers}
    made = {
        "words": lambda: Words(words=WORDS, encoder=transformers.BertConfig(**sizes), width=12),
        "bert": lambda: transformers.BertConfig(**sizes),
        "albert": lambda: transformers.AlbertConfig(embedding_size=8, **sizes),
        "roberta": lambda: transformers.RobertaConfig(type_vocab_size=1, **sizes),
        "electra": lambda: transformers.ElectraConfig(embedding_size=8, **sizes),
        "deberta": lambda: transformers.DebertaV2Config(**sizes, **_DEBERTA),
        "modernbert": lambda: transformers.ModernBertConfig(**sizes, **_SPECIAL),
    }
    return made[family]()


def reaching(config: transformers.PretrainedConfig, length: int) -> transformers.PretrainedConfig:
    """The same with more positions."""
    config.max_position_embeddings = length
    return config


@dataclass(frozen=True)
class Question:
    """Token and tag ids of a passage and of its options (for a span: one, the question), and the answer.

    Where a word is asked for, `candidates` are ids, `word` says which is right, and `blank` is its place.
    """

    passage: list[tuple[int, int]]
    options: list[list[tuple[int, int]]]
    label: int = 0
    span: tuple[int, int] | None = None
    candidates: tuple[int, ...] = ()
    word: int = 0
    blank: int | None = None


def question(seed: int, *, passage: int = 9, options: tuple[int, ...] = (3, 5, 4)) -> Question:
    """A random question with the given numbers of tokens."""
    draw = random.Random(seed)

    def text(length: int) -> list[tuple[int, int]]:
        return [(draw.randrange(FIRST_WORD, VOCABULARY), draw.randrange(3, TAGS)) for _ in range(length)]

    first = draw.randrange(passage)
    span = None if seed % 4 == 3 else (first, draw.randrange(first, passage))
    texts = text(passage), [text(length) for length in options]
    label = draw.randrange(len(options))
    present = sorted({token for token, _ in texts[0]})[:4]
    absent = next(token for token in range(FIRST_WORD, VOCABULARY) if token not in present)
    blank = None if seed % 3 == 2 or not options[0] else draw.randrange(options[0])
    return Question(*texts, label, span, (*present, absent), draw.randrange(len(present)), blank)


def overlap(first: torch.Tensor, last: torch.Tensor) -> Reward:
    """A reward: how much of two spans is shared."""

    def reward(start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
        shared = (torch.minimum(end, last) - torch.maximum(start, first) + 1).clamp_min(0)
        return (2 * shared / ((end - start + 1).clamp_min(0) + last - first + 1)).float()

    return reward


def batch(questions: list[Question], *, padding: int = 0, pad_id: int = 0, task: str = "options") -> Batch:
    """Put questions into one batch, with more padding than there need be."""
    rows = [(one, option) for one in questions for option in one.options]
    passage = 2 + max(len(one.passage) for one in questions) + padding
    asked = 1 + max(len(option) for _, option in rows) + padding
    length, count = max(passage, max(3 + len(q.passage) + len(o) for q, o in rows) + padding), len(rows)
    most = max(len(one.options) for one in questions)
    made = Batch(
        input_ids=torch.full((count, length), pad_id),
        attention_mask=torch.zeros(count, length, dtype=torch.bool),
        token_type_ids=torch.zeros(count, length, dtype=torch.long),
        tag_ids=torch.zeros(count, length, dtype=torch.long),
        passage_mask=torch.zeros(count, passage, dtype=torch.bool),
        question_index=torch.zeros(count, asked, dtype=torch.long),
        question_mask=torch.zeros(count, asked, dtype=torch.bool),
        option_index=torch.full((len(questions), most), -1),
        label=torch.tensor([one.word if task == "word" else one.label for one in questions]),
        answer_mask=torch.zeros(count, passage, dtype=torch.bool),
        start=torch.zeros(count, dtype=torch.long),
        end=torch.zeros(count, dtype=torch.long),
        word_groups=torch.full((count, passage), -1),
        candidates=torch.full((len(questions), max(len(one.candidates) for one in questions)), -2),
        candidate_ids=torch.full((len(questions), max(len(one.candidates) for one in questions), 1), -1),
        blank_mask=torch.zeros(count, asked, dtype=torch.bool),
    )
    made.reward = overlap(made.start, made.end)
    for row, (one, option) in enumerate(rows):
        tokens = [(CLS, 1), *one.passage, (SEP, 1), *option, (SEP, 1)]
        split, end = 2 + len(one.passage), len(tokens)
        made.input_ids[row, :end], made.tag_ids[row, :end] = torch.tensor(tokens).unbind(1)
        made.attention_mask[row, :end] = True
        made.token_type_ids[row, split:end] = 1
        made.passage_mask[row, :split] = True
        made.question_index[row, : end - split] = torch.arange(split, end)
        made.question_mask[row, : end - split] = True
        made.answer_mask[row, 1 : split - 1] = True
        if one.blank is not None:
            made.blank_mask[row, one.blank] = True
        if one.span is not None:
            made.start[row], made.end[row] = one.span[0] + 1, one.span[1] + 1
    row = 0
    for place, one in enumerate(questions):
        made.option_index[place, : len(one.options)] = torch.arange(row, row + len(one.options))
        row += len(one.options)
        words = list(dict.fromkeys(token for token, _ in one.passage))
        groups = torch.tensor([words.index(token) for token, _ in one.passage])
        made.word_groups[row - len(one.options) : row, 1 : len(groups) + 1] = groups
        for number, token in enumerate(one.candidates):
            made.candidates[place, number] = words.index(token) if token in words else -1
            made.candidate_ids[place, number, 0] = token
    return made


def scatter(module: torch.nn.Module, *, seed: int = 0, deviation: float = 0.2) -> torch.nn.Module:
    """Move all parameters from where they begin, so that none is zero or like another; in float64."""
    generator = torch.Generator().manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64), alpha=deviation)
    return module
