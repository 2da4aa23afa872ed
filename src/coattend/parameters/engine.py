"""Where work on shards and trials is done."""

from typing import Literal

from pydantic import Field, model_validator

from coattend.parameters.strict import Parameters


class EngineParameters(Parameters):
    """What spreads shards and trials. It never changes what comes out, and no key or trial id holds it."""

    kind: Literal["local", "dask"] = Field("local", description="local: this machine's processes; dask: a cluster.")
    address: str | None = Field(
        None,
        pattern=r"^(tcp|tls|ucx|wss?)://\S+:\d+$",
        description="Dask's scheduler, such as tcp://10.0.0.1:8786; null: a cluster of processes of this machine.",
    )

    @model_validator(mode="after")
    def _address_is_dasks(self) -> "EngineParameters":
        if self.kind == "local" and self.address is not None:
            raise ValueError("address is that of a Dask scheduler, and needs kind: dask")
        return self


LOCAL = EngineParameters()
"""The processes of this machine."""
