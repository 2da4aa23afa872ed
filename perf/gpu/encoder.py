"""An encoder's files with its weights in bf16, in two thirds of their size.

A number in bf16 has a sign, eight bits of exponent and seven of mantissa. Exponents of weights are much alike, and
mantissas are not: the upper bytes, held by themselves, compress to a third, and the lower ones are kept as they are.
"""

import json
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import torch
from safetensors.torch import load_file, save_file

WEIGHTS, SHAPES, UPPER, LOWER = "model.safetensors", "weights.json", "upper.zst", "lower.bin"
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
"""Files of an encoder's folder that are packed beside its weights, where there are any."""

LEVEL = 19
"""Effort of the compression: seconds once, and a tenth less than with the least."""


def pack_encoder(source: Path, file: Path) -> None:
    """Write an encoder's folder into an archive, its weights rounded to bf16."""
    weights = {name: tensor for name, tensor in load_file(source / WEIGHTS).items() if tensor.is_floating_point()}
    numbers = torch.cat([tensor.to(torch.bfloat16).reshape(-1) for tensor in weights.values()])
    lower, upper = numbers.view(torch.uint8).numpy().reshape(-1, 2).T
    shapes = [(name, list(tensor.shape)) for name, tensor in weights.items()]
    with ZipFile(file, "w") as archive:
        archive.writestr(SHAPES, json.dumps({"shapes": shapes, "numbers": len(upper)}))
        archive.writestr(UPPER, pa.Codec("zstd", LEVEL).compress(np.ascontiguousarray(upper).tobytes(), asbytes=True))
        archive.writestr(LOWER, np.ascontiguousarray(lower).tobytes())
        for name in FILES:
            if (source / name).is_file():
                content = (source / name).read_bytes()
                archive.writestr(f"{name}.zst", pa.Codec("zstd", LEVEL).compress(content, asbytes=True))
                archive.writestr(f"{name}.size", str(len(content)))


def unpack_encoder(file: Path, folder: Path) -> None:
    """Write the folder of an encoder from its archive; its weights stay bf16, and are loaded as float32."""
    folder.mkdir(parents=True, exist_ok=True)
    with ZipFile(file) as archive:
        about = json.loads(archive.read(SHAPES))
        upper = pa.decompress(archive.read(UPPER), about["numbers"], "zstd", asbytes=True)
        pairs = np.stack([np.frombuffer(archive.read(LOWER), np.uint8), np.frombuffer(upper, np.uint8)], axis=1)
        numbers = torch.from_numpy(pairs.reshape(-1)).view(torch.bfloat16)
        sizes = [int(np.prod(shape)) for _, shape in about["shapes"]]
        tensors = zip(about["shapes"], numbers.split(sizes), strict=True)
        save_file({name: part.view(shape).clone() for (name, shape), part in tensors}, folder / WEIGHTS)
        for name in FILES:
            if f"{name}.zst" in archive.namelist():
                size = int(archive.read(f"{name}.size"))
                (folder / name).write_bytes(pa.decompress(archive.read(f"{name}.zst"), size, "zstd", asbytes=True))
