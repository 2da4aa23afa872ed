"""Build what a trial of an experiment needs: its reader, batches, cached features and entity permutation."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import nn

from coattend import readers
from coattend.batches.cloze import ClozeArrays
from coattend.batches.collator import CachedFeatures, Collator, SpanReward
from coattend.batches.dataset import QuestionSet
from coattend.batches.entity_permutation import EntityNames, EntityPermutation
from coattend.batches.examples import Example
from coattend.batches.feature_cache import FeatureCache
from coattend.batches.sampler import LengthBuckets, RandomBatches
from coattend.batches.word_tokens import LexiconTokenizer, WordTokens
from coattend.config import TokenizerParameters, TrainingParameters
from coattend.errors import CoattendError
from coattend.evaluation import span_scorer
from coattend.readers.encoders.characters import character_configuration
from coattend.readers.encoders.pretrained import weights_digest
from coattend.readers.encoders.recurrent import RecurrentEncoder
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.encoders.word_embeddings import UNKNOWN, Words
from coattend.readers.encoders.word_features import ContextVectors
from coattend.readers.reader import Reader
from coattend.text.tokenizer import CHARACTER_IDS, load_tokenizer
from coattend.trials.device import device_and_precision, inference_batch_tokens
from coattend.trials.experiment import Experiment, reads_apart
from coattend.trials.trial import TrialOutcome, check_weights, encoder_digest, read_outcome


def build_reader(experiment: Experiment, train: QuestionSet) -> Reader:
    """Build the untrained reader of an experiment; the training questions are the vocabulary of a reader of words."""
    reader = readers.build(
        experiment.reader, encoder=_encoder_of(experiment, train), head=experiment.head, **experiment.model_options
    )
    lora = experiment.training.lora
    if lora is not None:
        _check_adaptable(experiment, reader)
        reader.add_adapters(experiment.encoder.source, **lora.model_dump())
    return prepare_for_training(experiment, reader)


def _check_adaptable(experiment: Experiment, reader: Reader) -> None:
    """Refuse adapters of an encoder that is no pretrained transformer."""
    problem = None
    if not isinstance(reader.encoder, TransformerEncoder):
        problem = f"has no transformer to adapt: the encoder of {experiment.reader} is recurrent"
        cure = f"Set lora: null for it, or in benchmarks.{experiment.benchmark}.recurrent for all such readers"
    elif experiment.encoder.is_untrained:
        problem, cure = "adapts pretrained weights, and the encoder starts untrained", "Set lora: null"
    if problem is not None:
        raise CoattendError(problem, where="training.lora", cure=cure)


def _encoder_of(experiment: Experiment, train: QuestionSet) -> str | Words | dict[str, Any]:
    """Return the name of the pretrained encoder, or the vocabulary that a recurrent encoder learns, or the description
    of an untrained one that knows the characters of the training questions."""
    tokens, encoder = experiment.source.tokens, experiment.encoder
    if not isinstance(tokens, WordTokens):
        return _untrained(experiment, train) if encoder.is_untrained else encoder.source
    if encoder.is_untrained and experiment.alignment is not None:
        problem = "cannot come from an encoder that starts untrained"
        raise CoattendError(problem, where="context vectors", cure="Set context: false, or name a pretrained encoder")
    # An option that is null is left out.
    size, lowercase = experiment.options.get("most_words"), experiment.options["lowercase"]
    vocabulary = tokens.vocabulary(train.examples, size=size, lowercase=lowercase)
    # There are no vectors of words in an untrained encoder: they are random.
    return Words(words=vocabulary, encoder=None if encoder.is_untrained else encoder.source)


def _untrained(experiment: Experiment, train: QuestionSet) -> dict[str, Any]:
    if experiment.training.frozen:
        problem = "cannot be: the encoder starts untrained, and its weights are random"
        raise CoattendError(problem, where="training.frozen", cure="Train it with frozen: false")
    known = np.flatnonzero(train.tokens.id_counts(row for example in train.examples for row in example.rows))
    size = experiment.encoder.untrained.model_dump()
    return character_configuration(known.tolist(), id_count=CHARACTER_IDS, **size)


def prepare_for_training(experiment: Experiment, reader: Reader) -> Reader:
    """Freeze the reader's encoder, or let it compute its hidden states again, if the experiment says so; raise if it
    cannot read ``training.max_length`` tokens."""
    encoder = cast(TransformerEncoder | RecurrentEncoder, reader.encoder)
    limit, training = encoder.max_length, experiment.training
    if limit is not None and training.max_length > limit:
        raise CoattendError(
            f"is {training.max_length}, and the encoder reads at most {limit} tokens",
            where="training.max_length",
            cure=f"Set it to {limit} or less",
        )
    if not isinstance(encoder, TransformerEncoder):
        return reader
    if training.frozen:
        encoder.freeze()
    elif training.gradient_checkpointing:
        encoder.checkpoint_gradients()
    return reader


def initial_reader(experiment: Experiment, train: QuestionSet, store: Path, seed: int) -> Reader:
    """Build the reader that a trial starts from: an untrained one, or that of its parent trial, which must be alike."""
    parent = experiment.parent_trial(seed)
    if parent is None:
        return build_reader(experiment, train)
    # The parent may have been trained on other data, but must be the same model.
    check_trained(store, parent, where="training.start_from")
    reader = Reader.load(store / parent / "model")
    expected = {"reader": experiment.reader, "head": experiment.head, "options": experiment.model_options}
    for name, value in expected.items():
        parent_value = getattr(reader.config, name)
        if parent_value != value:
            raise CoattendError(
                f"the trial {parent!r} has the {name} {parent_value!r}, and this one {value!r}",
                where="training.start_from",
                cure="Start from a trial of the same reader",
            )
    _match_adapters(experiment, reader, parent)
    return prepare_for_training(experiment, reader)


def check_trained(store: Path, trial: str, *, where: str) -> TrialOutcome:
    """Return the outcome of a trial that a training parameter names; raise a `CoattendError` if it has no reader, or a
    damaged one, or is not finished."""
    folder = store / trial / "model"
    if not folder.is_dir():
        raise CoattendError(
            f"there is no trained reader of the trial {trial!r}",
            where=where,
            cure="Give the id of a finished trial: the name of its folder, and its tag trial_id in MLflow",
        )
    outcome = read_outcome(store / trial)
    if outcome is None:
        cure = "Run its training pipeline again"
        raise CoattendError(f"the trial {trial!r} is not finished", where=where, cure=cure)
    check_weights(folder, outcome["model_digest"])
    return outcome


def _match_adapters(experiment: Experiment, reader: Reader, parent: str) -> None:
    """Merge the adapters of a parent trial's reader if the encoder is to be trained whole; raise if they are others
    than the experiment's."""
    lora, adapters = experiment.training.lora, reader.config.adapters
    if lora is None:
        reader.merge_adapters()
        return
    settings = lora.model_dump()
    if adapters is None or {name: getattr(adapters, name) for name in settings} != settings:
        problem = "trained the encoder whole" if adapters is None else "has other adapters"
        raise CoattendError(
            f"the trial {parent!r} {problem}, and a trial keeps its adapters of the pretrained encoder alone",
            where="training.lora",
            cure="Start from a trial with the same adapters, or set lora: null, which trains the encoder whole",
        )


def build_collator(
    experiment: Experiment,
    reader: Reader,
    questions: QuestionSet,
    *,
    permutation: EntityPermutation | None = None,
    features: CachedFeatures | None = None,
) -> Collator:
    """Build the collator that makes the batches of an experiment's questions for its reader."""
    tokens, passage_start = questions.tokens, len(experiment.layout.prefix)
    lookup = cloze = reward = None
    # Words are numbered over all texts; the reader knows those of its training questions.
    if isinstance(tokens, WordTokens):
        encoder = cast(RecurrentEncoder, reader.encoder)
        lookup = tokens.lookup(encoder.words or (), lowercase=encoder.lowercase)
    if experiment.task == "word":
        cloze = ClozeArrays(tokens, questions.texts, unknown=UNKNOWN)
    # Mixed objectives (DCN+) weigh a span by the F1 of its text.
    if experiment.options.get("objective", "cross_entropy") != "cross_entropy":
        reward = partial(
            SpanReward,
            passages=questions.texts,
            tokens=tokens,
            passage_start=passage_start,
            scorer=span_scorer(questions.scorer),
        )
    return Collator(
        tokens,
        experiment.layout,
        experiment.task,
        permutation=permutation,
        lookup=lookup,
        cloze=cloze,
        alignment=experiment.alignment,
        reward=reward,
        features=features,
        apart=reads_apart(experiment.options),
    )


def training_batches(
    collator: Collator, examples: Sequence[Example], training: TrainingParameters, *, seed: int = 0
) -> tuple[LengthBuckets | RandomBatches, Collator]:
    """Cut training examples into batches, and return the collator that pads them as the parameters say.

    Raises:
        CoattendError: If questions are to be drawn by lot for a reader that reads a passage once for all of them.
    """
    if training.questions_per_batch is None:
        return collator.buckets(examples, tokens_per_batch=training.tokens_per_batch, seed=seed), collator
    if collator.apart:
        raise CoattendError(
            "draws questions by lot, and the reader reads a passage once for all of its questions",
            where="training.questions_per_batch",
            cure="Set it to null, or take a reader without passage: apart",
        )
    batches = RandomBatches(len(examples), questions_per_batch=training.questions_per_batch, seed=seed)
    return batches, collator.padded_to(1)


def cached_features(
    experiment: Experiment, reader: Reader, questions: QuestionSet, store: Path
) -> CachedFeatures | None:
    """Compute, or load from disk, the outputs of a frozen encoder for questions; None if it is trained along.

    They are hidden states of a frozen transformer, or contextual vectors of a reader of words. The cache lies beside
    the folder of all trials.
    """
    training, words = experiment.training, isinstance(questions.tokens, WordTokens)
    # Only a pretrained encoder whose inputs stay the same has outputs to cache.
    if training.frozen and (words or training.permute_entities):
        problem = "words are learned anew" if words else "entities change their names"
        raise CoattendError(f"cannot be: {problem}", where="training.frozen", cure="Train it with frozen: false")
    if not training.frozen and experiment.alignment is None:
        return None
    # Words alone change: their vectors in context would tell what they were, and where.
    if experiment.alignment is not None and (training.permute_entities or training.reads == "shuffled_passage"):
        changed = "permute_entities: true" if training.permute_entities else "reads: shuffled_passage"
        problem = f"cannot be used with training.{changed}, which changes words and not their vectors in context"
        raise CoattendError(problem, where="context vectors", cure="Set context: false, or leave the words as they are")
    # A trial may start from the weights of another one: outputs belong to the weights at hand, not to those published.
    frozen_parts: tuple[nn.Module, ...]
    if experiment.alignment is None:
        frozen_parts = cast(TransformerEncoder, reader.encoder).frozen_parts
    else:
        context = cast(ContextVectors, cast(RecurrentEncoder, reader.encoder).context)
        frozen_parts = (context.model,)
    encoder = f"{encoder_digest(experiment.encoder)} {weights_digest(frozen_parts)}"
    # Co-attention inside the encoder makes other states of the same weights, and so do passages that are read apart.
    if experiment.alignment is None:
        names = ("co_attention", "passage", "apart_layers", "segments")
        encoder = f"{encoder} {[experiment.options.get(name) for name in names]}"
        if "attention" in experiment.options:  # Of a decoder.
            encoder = f"{encoder} {experiment.options['attention']}"
    cache = FeatureCache(
        store.parent / "encoder_outputs",
        encoder,
        inference_batch_tokens(training, transformer=True),
        device_and_precision(training)[1],
    )
    if experiment.alignment is None:
        collator = build_collator(experiment, reader, questions)
        if cast(TransformerEncoder, reader.encoder).reads_passages_once:
            return cache.passage_states(reader, questions.examples, questions.tokens, collator)
        return cache.hidden_states(reader, questions.examples, questions.tokens, collator)
    return cache.context_vectors(context, questions.examples, experiment.alignment, len(experiment.layout.prefix))


def entity_permutation(experiment: Experiment, seed: int, epoch: Callable[[], int]) -> EntityPermutation | None:
    """Build the permutation that renames entities in every epoch; None if they keep their names."""
    if not experiment.training.permute_entities:
        return None
    # Readers of words see an entity as one word of the lexicon.
    tokens = experiment.source.tokens
    if isinstance(tokens, WordTokens):
        names = EntityNames(LexiconTokenizer(tokens.lexicon))
    else:
        names = EntityNames(load_tokenizer(TokenizerParameters(source=experiment.encoder.source)))
    return EntityPermutation(names, tokens, seed=seed, epoch=epoch)
