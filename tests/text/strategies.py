"""Texts that tokenizers stumble over."""

from hypothesis import strategies as st

PIECES = [
    " ", "  ", "\n", "\r\n", "\t", "\x00", "\x0b", "\x1c", "\x7f", "\x85", "\xa0", "\u2028", "\u200b", "\u200d",
    "\ufeff", "\u202e", "\u0301",
    '"', "''", "``", "'", "`", "“", "”", "‘", "’", "«", "»", '"\'', "'\"", "' '", '("', "...", ". ", ".", "!?", "--",
    "—", "don't", "cannot", "gimme", "'tis ", "can't've", "O'Neil's", "Dr. ", "U.S.", "e.g.", "3.14", "$5", "50%",
    "a-b", "e\u0301", "n\u0303o", "ﬁ", "ß", "İ", "ſ", "ÅÅ", "שלום", "مرحبا", "नमस्ते", "你好", "日本語", "ไทย",
    "😀", "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "𝒳",
    "[SEP]", "[CLS]", "<s>", "##x", "_", "@placeholder", "word", "Word", "WORDS",
]  # fmt: skip

texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=14).map("".join)
