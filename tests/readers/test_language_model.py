"""A language model gives every option the log probability that it has in a sequence of its own."""

import random

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from coattend.errors import CoattendError
from coattend.readers.encoders.language_model import MOST_BRANCHES, LanguageModel
from coattend.readers.encoders.prompt_tree import EncodedPrompt
from coattend.readers.prompts import Inquiry, write_prompt

VOCABULARY = 61
SIZES = {"vocab_size": VOCABULARY, "max_position_embeddings": 512, "initializer_range": 0.3}
NARROW = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
CONFIGS = {
    "llama": lambda: transformers.LlamaConfig(**SIZES, **NARROW, num_key_value_heads=2),
    "qwen": lambda: transformers.Qwen3Config(**SIZES, **NARROW, num_key_value_heads=2, head_dim=8),
    "gpt2": lambda: transformers.GPT2Config(**SIZES, n_embd=16, n_layer=2, n_head=4),
    "window": lambda: transformers.MistralConfig(**SIZES, **NARROW, num_key_value_heads=2, sliding_window=24),
    # Positions are in the distances of attention, which a tree's mask says nothing of.
    "alibi": lambda: transformers.BloomConfig(vocab_size=VOCABULARY, hidden_size=16, n_layer=2, n_head=4),
}


@pytest.fixture(scope="module")
def load():
    def build(family):
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(CONFIGS[family]()).double()
        return LanguageModel(model, None, family)

    return build


def draw(generator, count):
    return tuple(generator.randrange(VOCABULARY) for _ in range(count))


def groups_of(seed, sizes, passage=40):
    """Groups of prompts about a passage each, which share its tokens."""
    generator = random.Random(seed)
    groups = []
    for questions in sizes:
        shared = draw(generator, generator.randint(3, passage))
        groups.append(
            [
                EncodedPrompt(
                    (*shared, *draw(generator, generator.randint(0, 6))),
                    tuple(draw(generator, generator.randint(1, 7)) for _ in range(generator.randint(2, 5))),
                )
                for _ in range(questions)
            ]
        )
    return groups


def log_probabilities(model, prompt):
    """A slow second implementation: each option alone behind its context."""
    sums = []
    for tokens in prompt.continuations:
        ids = torch.tensor([[*prompt.context, *tokens]])
        with torch.inference_mode():
            log_p = model(input_ids=ids).logits[0].log_softmax(-1)
        first = len(prompt.context)
        sums.append(sum(float(log_p[first + i - 1, token]) for i, token in enumerate(tokens)))
    return sums


@pytest.mark.parametrize(
    ("family", "reads_trees"), [("llama", True), ("qwen", True), ("gpt2", True), ("window", True), ("alibi", False)]
)
@pytest.mark.parametrize("tokens_per_batch", [64, 2048])
def test_options_are_scored_as_alone(load, family, reads_trees, tokens_per_batch):
    model = load(family)
    groups = groups_of(1, [1, 3, 2, 4, 1])
    tolerance = 1e-5 if family == "alibi" else 1e-9  # BLOOM computes the distances in float32.
    computed = dict(model.log_probabilities(groups, tokens_per_batch=tokens_per_batch))
    prompts = [prompt for group in groups for prompt in group]
    assert sorted(computed) == list(range(len(prompts)))
    for number, prompt in enumerate(prompts):
        assert computed[number] == pytest.approx(log_probabilities(model.model, prompt), abs=tolerance)
    assert model.reads_trees is reads_trees
    assert model.window == (24 if family == "window" else None)


def test_a_passage_is_read_once_for_its_questions_as_long_as_they_are_not_many(load):
    model, read = load("llama"), []

    def note(_module, _args, inputs):
        read.append(inputs["input_ids"].shape)

    model.model.register_forward_pre_hook(note, with_kwargs=True)
    (group,) = groups_of(2, [4], passage=200)
    dict(model.log_probabilities([group], tokens_per_batch=2048))
    tokens = len(group[0].context) + sum(6 + 5 * 6 for _ in group)
    ((rows, length),) = read
    assert rows == 1
    assert length <= tokens + 32
    read.clear()
    many = group * 40
    computed = dict(model.log_probabilities([many], tokens_per_batch=8192))
    assert sum(rows for rows, _ in read) < 8
    assert max(length for _, length in read) <= len(group[0].context) + 6 + MOST_BRANCHES + 32
    assert all(computed[number] == pytest.approx(computed[number % 4]) for number in range(len(many)))


@pytest.mark.parametrize("family", CONFIGS)
def test_examples_before_all_passages_are_read_once(load, family):
    model, read = load(family), []
    examples = draw(random.Random(3), 80)
    groups = [
        [EncodedPrompt((*examples, *prompt.context), prompt.continuations) for prompt in group]
        for group in groups_of(4, [2, 1, 3], passage=8)
    ]
    prompts = [prompt for group in groups for prompt in group]
    expected = [log_probabilities(model.model, prompt) for prompt in prompts]

    def note(_module, _args, inputs):
        read.append(inputs["input_ids"].shape[1])

    model.model.register_forward_pre_hook(note, with_kwargs=True)
    computed = dict(model.log_probabilities(groups, tokens_per_batch=256))
    for number, values in enumerate(expected):
        assert computed[number] == pytest.approx(values, abs=1e-5 if family == "alibi" else 1e-9)
    if family in ("llama", "qwen", "gpt2"):
        first, *others = read
        assert first >= len(examples)
        assert max(others) <= 96  # A tree without its examples, rounded.


def test_a_context_is_tokenized_as_a_whole_and_options_as_its_continuation(language_model, sample):
    model = LanguageModel.load(str(language_model))
    rows = sample.rows("options", "dev").to_pylist()
    passages = sample.passage_of(sample.rows("options", "dev"))
    prompts = [
        write_prompt(Inquiry(passages[row["question_id"]], row["question"], tuple(row["options"]))) for row in rows
    ]
    for prompt, encoded in zip(prompts, model.encode(prompts), strict=True):
        for text, tokens in zip(prompt.continuations, encoded.continuations, strict=True):
            assert model.tokenizer(prompt.context + text)["input_ids"] == [*encoded.context, *tokens]


@pytest.fixture(scope="module")
def merging_model():
    """A language model whose tokenizer has whole words, as the parts of which a blank may stand."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    texts = ["Statement: The unable unhappy man was unable to do it . able happy", "Statement: \u4ed6\u4eec"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    settings = {"vocab_size": 500, "special_tokens": ["<eos>"], "show_progress": False}
    tokenizer.train_from_iterator(50 * texts, trainers.BpeTrainer(initial_alphabet=alphabet, **settings))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SIZES | {"vocab_size": len(fast)}, **NARROW, num_key_value_heads=2)
    return LanguageModel(transformers.LlamaForCausalLM(config).double(), fast, "merging")


@pytest.mark.parametrize(
    ("question", "options", "merged"),
    [
        ("The un_ man .", ("able", "happy"), True),  # A blank inside a word.
        ("The man was un_", ("able", "happy"), True),
        ("\u4ed6_", ("\u4eec", "\u662f"), True),  # Chinese has no spaces.
        ("The man was _ .", ("unable", "happy"), False),
    ],
)
def test_options_that_merge_with_what_is_before_them_are_scored_from_the_first_token_that_differs(
    merging_model, question, options, merged
):
    start = question.index("_")
    prompt = write_prompt(Inquiry("P.", question, options, (start, start + 1)))
    (encoded,) = merging_model.encode([prompt])
    context, *whole = (
        tuple(merging_model.tokenizer(text)["input_ids"])
        for text in (prompt.context, *(prompt.context + text for text in prompt.continuations))
    )
    assert [(*encoded.context, *tokens) for tokens in encoded.continuations] == whole
    assert (encoded.context != context) == merged and context[: len(encoded.context)] == encoded.context
    ((_, values),) = merging_model.log_probabilities([[encoded]], tokens_per_batch=512)
    assert values == pytest.approx(log_probabilities(merging_model.model, encoded), abs=1e-9)
    assert values[0] != pytest.approx(values[1], abs=1e-3)


def test_a_cut_passage_loses_its_end(language_model):
    model, passage = LanguageModel.load(str(language_model)), "The lamp is in the hall. " * 40
    length = len(model.tokenizer(passage)["input_ids"])
    for excess, lost in ((1, 64), (64, 64), (65, 128), (length - 1, length - 1)):
        remaining = model.cut(passage, excess)
        assert passage.startswith(remaining)
        assert len(model.tokenizer(remaining)["input_ids"]) == length - lost
    assert model.cut(passage, length) is None


def test_a_chat_template_makes_examples_and_questions_messages(language_model):
    model = LanguageModel.load(str(language_model))
    example, prompt = (write_prompt(Inquiry(None, question, ("Yes.", "No."))) for question in ("Is it?", "Was it?"))
    with pytest.raises(CoattendError, match=r"without a chat template\. Set chat_template: false"):
        model.as_chat([], prompt)
    model.tokenizer.chat_template = (
        "<s>{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}[assistant] "
    )
    chat = model.as_chat([(example, 1)], prompt)
    asked = "[user] Question: {} it?\nAnswer:\n"
    assert chat.context == f"<s>{asked.format('Is')}[assistant] No.\n{asked.format('Was')}[assistant] "
    assert chat.continuations == ("Yes.", "No.")
    # The template has set the special tokens.
    assert model.encode([chat], chat=True)[0].context.count(model.tokenizer.bos_token_id) == 1


def test_what_is_no_language_model_is_refused(tmp_path, tiny_encoder, language_model):
    with pytest.raises(CoattendError, match="is no decoder-only language model of Hugging Face that is at hand"):
        LanguageModel.load(str(tmp_path))
    with pytest.raises(CoattendError, match="lacks weights"):
        LanguageModel.load(str(tiny_encoder))
    t5 = transformers.T5Config(vocab_size=VOCABULARY, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    transformers.T5ForConditionalGeneration(t5).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(language_model).save_pretrained(tmp_path)
    with pytest.raises(CoattendError, match="is no decoder-only language model"):
        LanguageModel.load(str(tmp_path))
