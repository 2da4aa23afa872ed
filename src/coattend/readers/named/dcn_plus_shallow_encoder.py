"""DCN+ with DCN's encoder in the place of deep residual coattention."""

from coattend.readers.named.dcn_plus import READER as DCN_PLUS
from coattend.readers.registry import NamedReader

READER = NamedReader(
    title="DCN+ without deep residual coattention",
    paper=DCN_PLUS.paper,
    encoder="recurrent",
    interaction="coattention",
    heads=("dynamic_span",),
    defaults={**DCN_PLUS.defaults, "directions": 1},
)
