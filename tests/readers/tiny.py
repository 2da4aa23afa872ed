"""Tiny encoders and batches for the tests of readers."""

import random
from dataclasses import dataclass

import torch
import transformers

from coattend.readers.batch import Batch, Reward
from coattend.readers.encoders.word_embeddings import Words

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
_GROUPED = {"num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
_SPECIAL = {"pad_token_id": 0, "cls_token_id": CLS, "bos_token_id": CLS, "sep_token_id": SEP, "eos_token_id": SEP}


def encoder(family: str = "bert", *, layers: int = 2) -> transformers.PretrainedConfig | Words:
    """A configuration with two layers and 16 dimensions, or as many words."""
    sizes = _SIZES | {"num_hidden_layers": layers}
    sources = {
        "words": lambda: Words(words=WORDS, encoder=transformers.BertConfig(**sizes), width=12),
        "bert": lambda: transformers.BertConfig(**sizes),
        "albert": lambda: transformers.AlbertConfig(embedding_size=8, **sizes),
        "roberta": lambda: transformers.RobertaConfig(type_vocab_size=1, **sizes),
        "electra": lambda: transformers.ElectraConfig(embedding_size=8, **sizes),
        "deberta_v1": lambda: transformers.DebertaConfig(**sizes, **_DEBERTA),
        "deberta": lambda: transformers.DebertaV2Config(**sizes, **_DEBERTA),
        "deberta_convolved": lambda: transformers.DebertaV2Config(conv_kernel_size=3, **sizes, **_DEBERTA),
        "llama": lambda: transformers.LlamaConfig(**_GROUPED, **sizes),
        "gpt2": lambda: transformers.GPT2Config(
            **{"n_embd": 16, "n_head": 4, "n_inner": 24, "n_layer": layers, "n_positions": 64},
            **{"vocab_size": VOCABULARY, "bos_token_id": CLS, "eos_token_id": SEP},
        ),
        "qwen2": lambda: transformers.Qwen2Config(**_GROUPED, **sizes),
        "qwen3": lambda: transformers.Qwen3Config(head_dim=4, **_GROUPED, **sizes),
        "t5": lambda: transformers.T5Config(
            vocab_size=VOCABULARY, d_model=16, d_kv=4, d_ff=24, num_heads=4, num_layers=layers
        ),
        "modernbert": lambda: transformers.ModernBertConfig(**sizes, **_SPECIAL),
    }
    return sources[family]()


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
    rows = [(question, option) for question in questions for option in question.options]
    passage = 2 + max(len(question.passage) for question in questions) + padding
    question_length = 1 + max(len(option) for _, option in rows) + padding
    length, count = max(passage, max(3 + len(q.passage) + len(o) for q, o in rows) + padding), len(rows)
    option_count = max(len(question.options) for question in questions)
    padded = Batch(
        input_ids=torch.full((count, length), pad_id),
        attention_mask=torch.zeros(count, length, dtype=torch.bool),
        token_type_ids=torch.zeros(count, length, dtype=torch.long),
        tag_ids=torch.zeros(count, length, dtype=torch.long),
        passage_mask=torch.zeros(count, passage, dtype=torch.bool),
        question_index=torch.zeros(count, question_length, dtype=torch.long),
        question_mask=torch.zeros(count, question_length, dtype=torch.bool),
        option_index=torch.full((len(questions), option_count), -1),
        label=torch.tensor([question.word if task == "word" else question.label for question in questions]),
        answer_mask=torch.zeros(count, passage, dtype=torch.bool),
        start=torch.zeros(count, dtype=torch.long),
        end=torch.zeros(count, dtype=torch.long),
        word_groups=torch.full((count, passage), -1),
        candidates=torch.full((len(questions), max(len(question.candidates) for question in questions)), -2),
        candidate_ids=torch.full((len(questions), max(len(question.candidates) for question in questions), 1), -1),
        blank_mask=torch.zeros(count, question_length, dtype=torch.bool),
        passage_of=torch.zeros(count, dtype=torch.long),
    )
    passages = list(dict.fromkeys(tuple(question.passage) for question in questions))
    padded.reward = overlap(padded.start, padded.end)
    for row, (question, option) in enumerate(rows):
        tokens = [(CLS, 1), *question.passage, (SEP, 1), *option, (SEP, 1)]
        split, end = 2 + len(question.passage), len(tokens)
        padded.passage_of[row] = passages.index(tuple(question.passage))
        padded.input_ids[row, :end], padded.tag_ids[row, :end] = torch.tensor(tokens).unbind(1)
        padded.attention_mask[row, :end] = True
        padded.token_type_ids[row, split:end] = 1
        padded.passage_mask[row, :split] = True
        padded.question_index[row, : end - split] = torch.arange(split, end)
        padded.question_mask[row, : end - split] = True
        padded.answer_mask[row, 1 : split - 1] = True
        if question.blank is not None:
            padded.blank_mask[row, question.blank] = True
        if question.span is not None:
            padded.start[row], padded.end[row] = question.span[0] + 1, question.span[1] + 1
    row = 0
    for index, question in enumerate(questions):
        padded.option_index[index, : len(question.options)] = torch.arange(row, row + len(question.options))
        row += len(question.options)
        words = list(dict.fromkeys(token for token, _ in question.passage))
        groups = torch.tensor([words.index(token) for token, _ in question.passage])
        padded.word_groups[row - len(question.options) : row, 1 : len(groups) + 1] = groups
        for number, token in enumerate(question.candidates):
            padded.candidates[index, number] = words.index(token) if token in words else -1
            padded.candidate_ids[index, number, 0] = token
    return padded


def scatter(module: torch.nn.Module, *, seed: int = 0, deviation: float = 0.2) -> torch.nn.Module:
    """Move all parameters from where they begin, so that none is zero or like another; in float64."""
    generator = torch.Generator().manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64), alpha=deviation)
    return module
