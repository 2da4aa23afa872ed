"""The named readers of the papers: combinations of parts with their options."""

from coattend.readers.interfaces import NamedReader

_DUMA = "Zhu, Zhao, Li: Dual Multi-head Co-attention for Multi-choice Reading Comprehension"

_DEFORMER = "Cao, Trivedi, Balasubramanian, Balasubramanian: DeFormer, ACL 2020"

_DCN_PLUS = NamedReader(
    title="DCN+",
    paper="Xiong, Zhong, Socher: DCN+: Mixed Objective and Deep Residual Coattention for Question Answering, ICLR 2018",
    encoder="recurrent",
    interaction="deep_residual_coattention",
    heads=("dynamic_span",),
    defaults={
        "cell": "lstm",
        "shared": True,
        "hidden": 200,
        "dropout": 0.2,
        "context": True,
        "character_width": 100,
        "word_dropout": 0.075,
        "experts": True,
        "objective": "mixed",
    },
)

ZOO: dict[str, NamedReader] = {
    # The baseline: an encoder and a linear layer.
    "plain": NamedReader(
        title="Plain encoder",
        paper="The baseline of both papers; they score the pooled [CLS] (pooling: cls_pooler), this pools the mean.",
        heads=("options", "span", "word"),
        defaults={"pooling": "mean"},
    ),
    # POI-Net (Zhao, Zhao, Shen, Zhao 2022) and its ablations: POS embedding and iterative co-attention.
    "poi_net": NamedReader(
        title="POI-Net",
        paper="Zhao, Zhao, Shen, Zhao: Lite Unified Modeling for Discriminative Reading Comprehension, ACL 2022",
        interaction="iterative_co_attention",
        heads=("options", "span", "word"),
        defaults={"tag_embedding": True, "turns": 3, "strategy": "forgetting", "pooling": "max", "fuse": "joint"},
    ),
    "poi_net_no_pos": NamedReader(
        title="POI-Net without POS embedding",
        paper="Zhao et al. 2022 (POI-Net), table 4",
        interaction="iterative_co_attention",
        heads=("options", "span"),
        defaults={"tag_embedding": False, "pooling": "max"},
    ),
    "poi_net_no_co_attention": NamedReader(
        title="POI-Net without co-attention",
        paper="Zhao et al. 2022 (POI-Net), table 4",
        interaction="none",
        heads=("options", "span"),
        defaults={"tag_embedding": True, "pooling": "max"},
    ),
    "multi_head_block": NamedReader(
        title="Multi-head co-attention",
        paper="Zhao et al. 2022 (POI-Net), table 7 and figure 4",
        interaction="multi_head_block",
        heads=("options", "span"),
        defaults={"tag_embedding": True, "hidden_tag_embedding": True, "pooling": "max"},
    ),
    # DUMA (Zhu, Zhao, Li 2020) and its variants: dual multi-head co-attention.
    "duma": NamedReader(
        title="DUMA",
        paper=f"{_DUMA}, arXiv 2001.09415",
        interaction="dual_multi_head",
        heads=("options", "span", "word"),
        defaults={"pooling": "mean", "fuse": "concatenate"},
    ),
    "tb_duma": NamedReader(
        title="TB-DUMA",
        paper=f"{_DUMA}, table 5",
        interaction="dual_multi_head",
        defaults={"block": "transformer", "pooling": "mean", "fuse": "concatenate"},
    ),
    "duma_p_to_q": NamedReader(
        title="DUMA, P-to-Q only",
        paper=f"{_DUMA}, table 9",
        interaction="dual_multi_head",
        heads=("options", "span"),
        defaults={"direction": "passage_to_question", "pooling": "mean"},
    ),
    "duma_q_to_p": NamedReader(
        title="DUMA, Q-to-P only",
        paper=f"{_DUMA}, table 9",
        interaction="dual_multi_head",
        defaults={"direction": "question_to_passage", "pooling": "mean"},
    ),
    "duma_inside_encoder": NamedReader(
        title="SA+CA",
        paper=f"{_DUMA}, table 11",
        heads=("options", "span"),
        defaults={"co_attention": True, "pooling": "mean", "fuse": "concatenate"},
    ),
    "recam_duma": NamedReader(
        title="ReCAM DUMA",
        paper="zzshou/RCAM (read-me, in Chinese): DUMA for SemEval-2021 task 4",
        interaction="sequential_multi_head",
        heads=("options", "span"),
        defaults={"pooling": "mean", "fuse": "concatenate"},
    ),
    # Interactions that DUMA's table 6 compares with.
    "soft_attention": NamedReader(
        title="Soft attention",
        paper="Bahdanau, Cho, Bengio 2015, as in DUMA, table 6",
        interaction="soft_attention",
        defaults={"pooling": "mean"},
    ),
    "bidaf": NamedReader(
        title="BiDAF",
        paper="Seo, Kembhavi, Farhadi, Hajishirzi 2017, as in DUMA, table 6",
        interaction="bidaf",
        heads=("options", "span"),
        defaults={"pooling": "mean"},
    ),
    "dcmn": NamedReader(
        title="DCMN",
        paper="Zhang, Zhao, Wu, Zhang, Zhou, Zhou: Dual Co-Matching Network, arXiv 1901.09381, as in DUMA, table 6",
        interaction="dcmn",
        defaults={"pooling": "summary"},
    ),
    # Readers whose encoder reads a passage once, for all of its questions and options: not what the papers did.
    "plain_apart": NamedReader(
        title="Plain encoder, passages apart",
        paper=f"The baseline, with the passage read apart as in {_DEFORMER}, here in all layers",
        heads=("options", "pointer"),
        defaults={"passage": "apart", "pooling": "mean", "streams": "question"},
    ),
    "poi_net_apart": NamedReader(
        title="POI-Net, passages apart",
        paper=f"Zhao et al. 2022 (POI-Net), with the passage read apart as in {_DEFORMER}",
        interaction="iterative_co_attention",
        heads=("options", "span"),
        defaults={"passage": "apart", "tag_embedding": True, "turns": 3, "strategy": "forgetting", "pooling": "max"},
    ),
    "duma_apart": NamedReader(
        title="DUMA, passages apart",
        paper=f"{_DUMA}, with the passage read apart as in {_DEFORMER}",
        interaction="dual_multi_head",
        heads=("options", "span"),
        defaults={"passage": "apart", "pooling": "mean", "fuse": "concatenate"},
    ),
    # Readers of cloze questions: one recurrent layer over words, and attention to the passage.
    "as_reader": NamedReader(
        title="AS Reader",
        paper="Kadlec, Schmid, Bajgar, Kleindienst: Text Understanding with the Attention Sum Reader Network, ACL 2016",
        encoder="recurrent",
        interaction="attention_sum",
        heads=("word",),
        defaults={"cell": "gru", "shared": True, "hidden": 256},
    ),
    "attentive_reader": NamedReader(
        title="Attentive Reader",
        paper="Hermann et al.: Teaching Machines to Read and Comprehend, NIPS 2015",
        encoder="recurrent",
        interaction="attentive",
        heads=("vocabulary",),
        defaults={"cell": "lstm", "shared": True, "hidden": 256},
    ),
    "stanford_reader": NamedReader(
        title="Stanford Reader",
        paper="Chen, Bolton, Manning: A Thorough Examination of the CNN/Daily Mail Reading Comprehension Task, "
        "ACL 2016",
        encoder="recurrent",
        interaction="bilinear",
        heads=("vocabulary",),
        defaults={"cell": "gru", "shared": True, "hidden": 128, "dropout": 0.2},
    ),
    "cas_reader": NamedReader(
        title="CAS Reader",
        paper="Cui, Liu, Chen, Wang, Hu: Consensus Attention-based Neural Networks for Chinese Reading ..., "
        "COLING 2016",
        encoder="recurrent",
        interaction="consensus_attention",
        heads=("word",),
        defaults={"cell": "gru", "shared": True, "hidden": 256},
    ),
    "aoa_reader": NamedReader(
        title="AoA Reader",
        paper="Cui, Chen, Wei, Wang, Liu, Hu: Attention-over-Attention Neural Networks for Reading Comprehension, "
        "ACL 2017",
        encoder="recurrent",
        interaction="attention_over_attention",
        heads=("word",),
        defaults={"cell": "gru", "shared": True, "hidden": 256, "dropout": 0.1},
    ),
    "aoa_span": NamedReader(
        title="Interactive AoA Reader",
        paper="Cui et al.: Attention-over-Attention Neural Networks, slides of 2017, last part",
        encoder="recurrent",
        interaction="attention_over_attention",
        heads=("span", "dynamic_span"),
        defaults={"cell": "gru", "shared": True, "hidden": 256, "dropout": 0.2, "modelling": 128},
    ),
    "ga_reader": NamedReader(
        title="GA Reader",
        paper="Dhingra, Liu, Yang, Cohen, Salakhutdinov: Gated-Attention Readers for Text Comprehension, ACL 2017",
        encoder="recurrent",
        interaction="gated",
        heads=("word",),
        defaults={
            "cell": "gru",
            "shared": True,
            "hidden": 128,
            "hops": 3,
            "hop_dropout": 0.2,
            "normalise": "candidates",
        },
    ),
    # DCN and DCN+ (Xiong, Zhong, Socher): coattention and a dynamic decoder; DCN+ with its ablations.
    "dcn": NamedReader(
        title="DCN",
        paper="Xiong, Zhong, Socher: Dynamic Coattention Networks for Question Answering, ICLR 2017",
        encoder="recurrent",
        interaction="coattention",
        heads=("dynamic_span", "span"),
        defaults={"cell": "lstm", "shared": True, "hidden": 200, "dropout": 0.2, "directions": 1},
    ),
    "dcn_context": NamedReader(
        title="DCN with context vectors",
        paper="McCann, Bradbury, Xiong, Socher: Learned in Translation: Contextualized Word Vectors, NIPS 2017",
        encoder="recurrent",
        interaction="coattention",
        heads=("dynamic_span",),
        defaults={"cell": "lstm", "shared": True, "hidden": 200, "dropout": 0.2, "directions": 1, "context": True},
    ),
    "dcn_plus": _DCN_PLUS,
    "dcn_plus_shallow_encoder": NamedReader(
        title="DCN+ without deep residual coattention",
        paper=_DCN_PLUS.paper,
        encoder="recurrent",
        interaction="coattention",
        heads=("dynamic_span",),
        defaults={**_DCN_PLUS.defaults, "directions": 1},
    ),
    "dcn_plus_no_mixed_objective": NamedReader(
        title="DCN+ without the mixed objective",
        paper=_DCN_PLUS.paper,
        encoder="recurrent",
        interaction="deep_residual_coattention",
        heads=("dynamic_span",),
        defaults={**_DCN_PLUS.defaults, "objective": "cross_entropy"},
    ),
    "dcn_plus_no_experts": NamedReader(
        title="DCN+ without the mixture of experts",
        paper=_DCN_PLUS.paper,
        encoder="recurrent",
        interaction="deep_residual_coattention",
        heads=("dynamic_span",),
        defaults={**_DCN_PLUS.defaults, "experts": False},
    ),
    # A language model, which is not trained.
    "option_likelihood": NamedReader(
        title="Option likelihood",
        paper="Brown et al.: Language Models are Few-Shot Learners, NeurIPS 2020 (section 2.4)",
        encoder="language_model",
        heads=("likelihood",),
    ),
}
"""Readers by name."""
