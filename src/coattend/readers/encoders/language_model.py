"""A decoder-only language model of Hugging Face, as it is, which reads a passage once for its questions and options.

The prompts about a passage form a tree: the tokens that they share, behind these the rest of each question, and behind
each question its options. A tree is one sequence in which a token sees those on its own branch alone, and is at the
position that it has there. So keys and values of the passage are computed once, and every option has the log
probability that it has in a sequence of its own. Models that cannot read trees (the first one that is loaded shows it)
read each option in a sequence of its own.

Examples before all prompts are a prefix. It is read once, and its keys and values stand before those of each tree.

Shapes: R sequences, N tokens, L tokens of a prefix, K tokens that predict another one, V tokens of the vocabulary.
"""

import copy
import inspect
import logging
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from coattend.errors import CoattendError
from coattend.readers.encoders.configs import LanguageModelConfig
from coattend.readers.encoders.pretrained import attention_window, silence
from coattend.readers.encoders.prompt_tree import EncodedPrompt, Tree, predicting_first, shared_length, tree_mask
from coattend.readers.prompts import Prompt

if TYPE_CHECKING:
    from transformers import DynamicCache, PreTrainedModel, PreTrainedTokenizerBase

MOST_BRANCHES = 1024
"""Tokens of questions and options behind one passage, beyond which it is read again: attention takes their square."""
LENGTH_MULTIPLE = 32
"""Sequences are padded to a multiple, since computing kernels are kept for each length."""
CUT_MULTIPLE = 64
"""Passages that are too long lose a multiple of so many tokens, so that questions about one of them share the rest."""
SHORTEST_PREFIX = 64
"""Tokens that all prompts must begin with to be read once: copying keys and values of fewer gains nothing."""
TOLERANCE, HALF_TOLERANCE = 1e-3, 0.1
"""Largest difference of log probabilities between a tree and sequences of their own; in half precision."""

logger = logging.getLogger(__name__)


class LanguageModel:
    """A language model with its tokenizer, in evaluation mode.

    Attributes:
        reads_trees: True if it reads trees, also behind a prefix, as it reads sequences of their own.
        window: Tokens that its layers with the shortest window see; None: all.
    """

    Config = LanguageModelConfig

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
        self.model, self.tokenizer, self.source = model.eval(), tokenizer, source
        config = model.config.get_text_config()
        self.max_length: int | None = getattr(config, "max_position_embeddings", None)
        self.window = attention_window(config)
        self._keeps_logits = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.reads_trees = self._probe()

    @classmethod
    def load(cls, source: str, *, device: str = "cpu", bf16: bool = False) -> "LanguageModel":
        """Load a model from a folder or by its Hugging Face name, without running code that comes with it.

        Raises:
            CoattendError: If it is not available, or no decoder-only language model.
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        where = f"language model {source!r}"
        local = Path(source).is_dir()
        dtype = torch.bfloat16 if bf16 else torch.float32
        loaded: Any
        try:
            with silence():
                tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local, trust_remote_code=False)
                loaded = AutoModelForCausalLM.from_pretrained(
                    source, dtype=dtype, output_loading_info=True, local_files_only=local, trust_remote_code=False
                )
        except (OSError, ValueError, KeyError, ImportError) as error:
            reason = " ".join(str(error).split())[:200]
            raise CoattendError(
                f"is no decoder-only language model of Hugging Face that is at hand or can be fetched ({reason})",
                where=where,
                cure="Name a folder with config.json, weights and tokenizer, or check the spelling and the network",
            ) from error
        model, report = loaded
        problems = {
            "has an encoder": getattr(model.config, "is_encoder_decoder", False),
            "has no fast tokenizer": not tokenizer.is_fast,
            f"lacks weights ({', '.join(sorted(report['missing_keys'])[:3])})": report["missing_keys"],
        }
        for problem, is_there in problems.items():
            if is_there:
                raise CoattendError(problem, where=where, cure="Name a whole decoder-only model, such as a Llama")
        return cls(model.to(device), tokenizer, source)

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens that its tokenizer knows."""
        return len(self.tokenizer)

    @property
    def parameter_count(self) -> int:
        """The number of its parameters."""
        return sum(weights.numel() for weights in self.model.parameters())

    def as_chat(self, examples: Sequence[tuple[Prompt, int]], prompt: Prompt) -> Prompt:
        """Put a prompt as the message of a user, behind examples as messages that were answered.

        Raises:
            CoattendError: If its tokenizer has no chat template.
        """
        if not self.tokenizer.chat_template:
            raise CoattendError(
                "has a tokenizer without a chat template",
                where=f"language model {self.source!r}",
                cure="Set chat_template: false, or name an instruction model",
            )
        messages = []
        for example, label in examples:
            messages.append({"role": "user", "content": example.context})
            messages.append({"role": "assistant", "content": example.continuations[label].lstrip()})
        messages.append({"role": "user", "content": prompt.context})
        context = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return Prompt(str(context), tuple(text.lstrip() for text in prompt.continuations))

    def encode(self, prompts: Sequence[Prompt], *, chat: bool = False) -> list[EncodedPrompt]:
        """Tokenize prompts; contexts get the special tokens of the tokenizer, unless a chat template has set them.

        Where an option changes the last tokens before it, as behind a part of a word, these belong to all options.
        """
        contexts = self._tokenize([prompt.context for prompt in prompts], add_special_tokens=not chat)
        texts = [text for prompt in prompts for text in (prompt.tail, *(prompt.tail + c for c in prompt.continuations))]
        tokens = iter(self._tokenize(texts, add_special_tokens=False))
        encoded = []
        for prompt, context in zip(prompts, contexts, strict=True):
            tail, joined = tuple(next(tokens)), [tuple(next(tokens)) for _ in prompt.continuations]
            # Each option has a token at least, and so has what is before it.
            kept = min(min(shared_length([tail, text]), len(text) - 1) for text in joined)
            kept = max(kept, len(tail) + 1 - len(context))
            before = len(context) - (len(tail) - kept)
            encoded.append(EncodedPrompt(tuple(context[:before]), tuple(text[kept:] for text in joined)))
        return encoded

    def _tokenize(self, texts: list[str], *, add_special_tokens: bool) -> list[list[int]]:
        ids: list[list[int]] = self.tokenizer(texts, add_special_tokens=add_special_tokens, verbose=False)["input_ids"]
        return ids

    def cut(self, passage: str, excess: int) -> str | None:
        """Cut tokens off the end of a passage, so many or up to 63 more; None if nothing is left."""
        offsets = self.tokenizer(passage, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        ends = [end for _, end in offsets["offset_mapping"]]
        remaining = len(ends) - -(-excess // CUT_MULTIPLE) * CUT_MULTIPLE
        if remaining < 1:
            remaining = len(ends) - excess
        return passage[: ends[remaining - 1]] if remaining > 0 else None

    def log_probabilities(
        self, groups: Sequence[Sequence[EncodedPrompt]], *, tokens_per_batch: int
    ) -> Generator[tuple[int, list[float]], None, None]:
        """Compute the log probability of each continuation of each prompt.

        Args:
            groups: Prompts about one passage each.
            tokens_per_batch: Padded tokens that one forward pass may hold; a longer tree is a batch of its own.

        Yields:
            The number of a prompt, counted through all groups, and the sum of the log probabilities of the tokens of
            each continuation [C]; in an order of their lengths.
        """
        trees = sorted(self._trees(groups, tokens_per_batch), key=lambda tree: (tree.branches, -len(tree.ids)))
        prefix = self._prefix([prompt.context for group in groups for prompt in group])
        continuations = [len(prompt.continuations) for group in groups for prompt in group]
        # A prompt is yielded when all of its continuations have a sum.
        sums = [[0.0] * count for count in continuations]
        missing = list(continuations)
        for batch in _batches(trees, tokens_per_batch):
            for tree, values in zip(batch, self._predict(batch, prefix), strict=True):
                owners = [owner for _, _, owner in tree.predictions]
                for (prompt, option), value in zip(owners, values.tolist(), strict=True):
                    sums[prompt][option] += value
                for prompt, _ in dict.fromkeys(owners):
                    missing[prompt] -= 1
                    if not missing[prompt]:
                        yield prompt, sums[prompt]

    def _trees(self, groups: Sequence[Sequence[EncodedPrompt]], tokens_per_batch: int) -> Iterator[Tree]:
        """Build the trees of groups, each of as many prompts as share a sequence, or of one continuation."""
        number = 0
        for group in groups:
            numbered = list(enumerate(group, number))
            number += len(group)
            sees_all = self.window is None or max(prompt.length for prompt in group) <= self.window
            if not (self.reads_trees and sees_all):
                for prompt_number, prompt in numbered:
                    yield from self._sequences(prompt_number, prompt)
                continue
            part: list[tuple[int, EncodedPrompt]] = []
            room = 0
            for prompt_number, prompt in numbered:
                shared = shared_length([part[0][1].context, prompt.context]) if part else 0
                branch = sum(len(tokens) - 1 for tokens in prompt.continuations)
                if part and len(prompt.context) - shared + branch > room:
                    yield Tree.of(part)
                    part = []
                if not part:
                    shared, room = len(prompt.context), min(MOST_BRANCHES, tokens_per_batch - len(prompt.context))
                part.append((prompt_number, prompt))
                room -= len(prompt.context) - shared + branch
            yield Tree.of(part)

    def _sequences(self, number: int, prompt: EncodedPrompt) -> Iterator[Tree]:
        """Build a tree without branches for each continuation of a prompt."""
        for option, tokens in enumerate(prompt.continuations):
            tree = Tree.of([(number, EncodedPrompt(prompt.context, (tokens,)))])
            tree.predictions = [(index, token, (number, option)) for index, token, _ in tree.predictions]
            tree.branches = False
            yield tree

    def _prefix(self, contexts: Sequence[tuple[int, ...]]) -> "DynamicCache | None":
        """Read what all contexts begin with; None where that is short, or trees cannot stand behind it."""
        if not self.reads_trees or self.window is not None or not contexts:
            return None
        # The last token of a context predicts, and so belongs to its tree.
        length = min(shared_length(contexts), min(map(len, contexts)) - 1)
        return self._read_prefix(contexts[0][:length]) if length >= SHORTEST_PREFIX else None

    @torch.inference_mode()
    def _read_prefix(self, tokens: tuple[int, ...]) -> "DynamicCache":
        """Compute keys and values of a prefix [1, L]."""
        ids = torch.tensor([tokens], device=self.model.device)
        options = {"logits_to_keep": 1} if self._keeps_logits else {}
        cache: DynamicCache = self.model(input_ids=ids, use_cache=True, **options).past_key_values
        return cache

    @torch.inference_mode()
    def _predict(self, trees: Sequence[Tree], prefix: "DynamicCache | None" = None) -> list[Tensor]:
        """Compute the log probability of each predicted token of each tree, whose beginning may be read already."""
        branches, device = trees[0].branches, self.model.device
        options: dict[str, Any] = {"use_cache": False}
        before = 0
        if prefix is not None and branches:
            before = prefix.get_seq_length()
            trees = [tree.behind(before) for tree in trees]
            copies = copy.deepcopy(prefix)
            copies.batch_repeat_interleave(len(trees))
            options = {"use_cache": True, "past_key_values": copies}
        length = _rounded(max(len(tree.ids) for tree in trees))
        # The tokens that predict come first: the model then computes scores of the vocabulary for them alone.
        orders = [predicting_first(tree) if branches else np.arange(len(tree.ids)) for tree in trees]
        columns = [np.argsort(order) for order in orders]
        tensors = {}
        for name, pad in (("ids", 0), ("positions", 0), ("question", -1), ("option", -1)):
            ordered = [np.array(getattr(tree, name))[order] for tree, order in zip(trees, orders, strict=True)]
            tensors[name] = _stacked(ordered, length, pad).to(device)
        order_in_tree = _stacked(orders, length, length).to(device)
        if branches:
            mask = tree_mask(order_in_tree, tensors["question"], tensors["option"], self.model.dtype)
            # Each token sees all of the prefix.
            mask = torch.nn.functional.pad(mask, (before, 0))
            kept = max(len({index for index, _, _ in tree.predictions}) for tree in trees)
            if self._keeps_logits:
                options["logits_to_keep"] = torch.arange(min(_rounded(kept), length), device=device)
        else:
            mask = (order_in_tree < length).long()
        logits = self.model(
            input_ids=tensors["ids"], attention_mask=mask, position_ids=tensors["positions"], **options
        ).logits
        values = []
        for row, (tree, column) in enumerate(zip(trees, columns, strict=True)):
            indices = torch.from_numpy(column[[index for index, _, _ in tree.predictions]]).to(device)
            targets = torch.tensor([token for _, token, _ in tree.predictions], device=device)
            predicting, inverse = indices.unique(return_inverse=True)
            predicted = logits[row, predicting]
            log_p = predicted.to(torch.promote_types(predicted.dtype, torch.float32)).log_softmax(-1)
            values.append(log_p[inverse, targets].cpu())
        return values

    def _probe(self) -> bool:
        """Compare a tree of a few random tokens, whole and behind a prefix, with sequences of their own."""
        size = self.model.get_input_embeddings().num_embeddings
        generator = np.random.default_rng(0)

        def draw(count: int) -> tuple[int, ...]:
            return tuple(generator.integers(0, size, count).tolist())

        shared = draw(7)
        prompts = [
            (number, EncodedPrompt((*shared, *draw(number + 2)), (draw(1), draw(3), draw(4)))) for number in range(2)
        ]
        alone = [tree for number, prompt in prompts for tree in self._sequences(number, prompt)]
        expected = torch.cat(self._predict(alone))
        try:
            whole, prefix = Tree.of(prompts), None if self.window is not None else self._read_prefix(shared[:4])
            values = torch.stack([self._predict([whole], before)[0] for before in {None, prefix}])
        except Exception as error:  # Models refuse such masks in many ways.
            difference, reason = float("inf"), f"{type(error).__name__}: {error}"
        else:
            difference = float((values - expected).abs().max())
            reason = f"log probabilities differ by {difference:.2g}"
        if difference < (HALF_TOLERANCE if self.model.dtype.itemsize == 2 else TOLERANCE):
            return True
        logger.warning("%s reads each option in a sequence of its own, which takes longer: %s", self.source, reason)
        return False


def _batches(trees: Sequence[Tree], tokens_per_batch: int) -> Iterator[list[Tree]]:
    """Divide trees, the longest first, into batches of so many padded tokens."""
    batch: list[Tree] = []
    for tree in trees:
        is_full = batch and _rounded(len(batch[0].ids)) * (len(batch) + 1) > tokens_per_batch
        if is_full or (batch and batch[0].branches != tree.branches):
            yield batch
            batch = []
        batch.append(tree)
    if batch:
        yield batch


def _stacked(rows: Sequence[np.ndarray], length: int, pad: int) -> Tensor:
    """Pad rows and stack them [R, length]."""
    return torch.from_numpy(np.stack([np.pad(row, (0, length - len(row)), constant_values=pad) for row in rows]))


def _rounded(length: int) -> int:
    return -(-length // LENGTH_MULTIPLE) * LENGTH_MULTIPLE


PART = LanguageModel
