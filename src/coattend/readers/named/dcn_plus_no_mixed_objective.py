"""DCN+ trained on cross entropy alone."""

from coattend.readers.named.dcn_plus import READER as DCN_PLUS
from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DCN+ without the mixed objective",
    paper=DCN_PLUS.paper,
    encoder="recurrent",
    interaction="deep_residual_coattention",
    heads=("dynamic_span",),
    defaults={**DCN_PLUS.defaults, "objective": "cross_entropy"},
)
