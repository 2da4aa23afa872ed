"""All measurements; the results go to ``perf/results.json`` with a description of the machine."""

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from perf import commands, data_stages, interactions, scale, training

RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """Measure what there is data for."""
    parser = argparse.ArgumentParser(prog="python -m perf", description=__doc__)
    parser.add_argument(
        "--raw", default=os.environ.get("COATTEND_RAW"), help="folder with DREAM and RACE; default $COATTEND_RAW"
    )
    parser.add_argument("--data", default="data", help="project data folder with DREAM's tokens")
    parser.add_argument("--scale", action="store_true", help="a million passages too: half an hour more")
    chosen = parser.parse_args()
    raw = ["--raw", chosen.raw] if chosen.raw else []
    results: dict[str, object] = {"machine": machine(), "measured": datetime.now(UTC).date().isoformat()}

    def note(name: str, figures: object) -> None:
        results[name] = figures
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")

    note("commands", commands.main(raw))
    note("interactions", interactions.main([]))
    if chosen.raw:
        present = [name for name in ("dream", "race") if Path(chosen.raw, name).is_dir()]
        note("data_stages", {name: data_stages.main([*raw, "--benchmark", name]) for name in present})
    else:
        print("left out: data stages of DREAM and RACE (say --raw, or set COATTEND_RAW)")
    if Path(chosen.data, "05_model_input", "dream").is_dir():
        note("training", training.main(["--data", chosen.data]))
    else:
        print("left out: training (run ingestion, tagging and tokenization of dream first)")
    if chosen.scale:
        note("scale", scale.main([]))
    print(f"written to {RESULTS}")


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {"processor": models[0].split(":")[1].strip(), "cores": os.cpu_count(), "python": platform.python_version()}


if __name__ == "__main__":
    main()
