"""DP-SGD on Adult: without privacy, by trasgo, and by opacus in an environment of its own.

Run with ``python tests/benchmarks/training.py --opacus PYTHON``, where PYTHON has torch and opacus. All three train the
same logistic regression on the same four fifths of the rows and are measured on the same other fifth, at (1, 1e-5).
Opacus counts neighbours by add-or-remove; trasgo charges a replaced row, which is about twice as strict, so it is
shown at both readings of epsilon 1.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from trasgo_lib.noise import Keystream
from trasgo_lib.noise.discrete_gaussian import LARGEST_SIGMA
from trasgo_lib.training.descent import RATE_BITS, Descent, descend
from trasgo_lib.training.features import EncodedRows, Feature, encoded
from trasgo_lib.training.fitting import right_predictions
from trasgo_lib.training.network import shapes

KEY = bytes(range(32))
NUMBERS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 99999),
    "capital-loss": (0, 4356),
    "hours-per-week": (1, 99),
}
CATEGORIES = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
DELTA, BATCH, STEPS, CLIP, RATE = 1e-5, 512, 1000, 1.0, 4.0


@dataclass(frozen=True)
class Adult:
    """Adult's training file as codes: four fifths to train on, one to test on."""

    rows: EncodedRows
    labels: np.ndarray
    trained: np.ndarray
    tested: np.ndarray


def read_adult(folder: Path) -> Adult:
    """Read, code by public lists and bounds, split by a fixed key."""
    with (folder / "uci_adult_train.csv").open(encoding="utf-8") as stream:
        entries = list(csv.DictReader(stream, skipinitialspace=True))
    codes, features = {}, []
    for name, (lower, upper) in NUMBERS.items():
        values = np.array([int(entry[name]) for entry in entries])
        codes[name] = (np.clip(values, lower, upper) - lower).astype(np.int32)
        features.append(Feature(name, "number", upper - lower + 1, False))
    for name in CATEGORIES:
        listed = sorted({entry[name] for entry in entries})
        codes[name] = np.array([listed.index(entry[name]) for entry in entries], dtype=np.int32)
        features.append(Feature(name, "category", len(listed), False))
    labels = np.array([entry["salary-class"].startswith(">") for entry in entries], dtype=np.int64)
    is_tested = Keystream(KEY, "split").words(0, len(labels)) < np.uint64(2**64 // 5)
    return Adult(encoded(features, codes), labels, np.flatnonzero(~is_tested), np.flatnonzero(is_tested))


def accuracy_of(adult: Adult, weights: Sequence[np.ndarray]) -> float:
    """Share of right predictions on the test fifth."""
    return right_predictions(weights, adult.rows, adult.labels, adult.tested) / len(adult.tested)


def train(adult: Adult, multiplier: float | None, run: int, hidden: tuple[int, ...] = ()) -> float:
    """Accuracy of one training; None for no noise and no clipping that matters."""
    rows = len(adult.trained)
    found = shapes(sum(table.shape[1] for table in adult.rows.tables), hidden, 2)
    weights = sum(height * width for height, width in found)
    units = int(BATCH / rows * 2**RATE_BITS)
    law = Descent(found, units, STEPS, CLIP, 24, Fraction(1, 4), units / 2**RATE_BITS * rows, RATE, 0.5)
    if multiplier is None:
        law = replace(law, clip_norm=1000.0, learning_rate=RATE)
    else:
        rounding = math.isqrt(weights - 1) + 1
        bits = min(10, int(math.log2(LARGEST_SIGMA / multiplier - rounding)))  # a coarser grid where the noise is wide
        sigma = Fraction(multiplier) * ((1 << bits) + rounding)
        law = replace(law, grid_bits=bits, variance=sigma**2)
    streams = [Keystream(KEY, what, run) for what in ("sample", "noise", "start")]
    labels = adult.labels[adult.trained]
    return accuracy_of(adult, descend(law, rows, lambda at: adult.rows.inputs(adult.trained[at]), labels, *streams))


def multipliers(adult: Adult, epsilon: float = 1.0) -> dict[str, float]:
    """The least noise for a replaced row, and for one added or taken out (dp-accounting)."""
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    from trasgo_lib.amounts import Delta, Epsilon
    from trasgo_lib.training.calibration import least_noise
    from trasgo_lib.training.compile import rate_text

    units = int(BATCH / len(adult.trained) * 2**RATE_BITS)
    replaced = least_noise(Epsilon.parse(str(epsilon)), Delta.parse(f"{DELTA:.15f}"), rate_text(units), STEPS)

    def spent(noise: float) -> float:
        step = dp_event.PoissonSampledDpEvent(units / 2**RATE_BITS, dp_event.GaussianDpEvent(noise))
        return float(RdpAccountant().compose(dp_event.SelfComposedDpEvent(step, STEPS)).get_epsilon(DELTA))

    low, high = 0.3, 30.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if spent(middle) <= epsilon else (middle, high)
    return {"replaced row": float(replaced.noise_multiplier), "add or remove": high}


_OPACUS = """
import json, sys
import numpy as np, torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset
data, setting = np.load(sys.argv[1]), json.loads(sys.argv[2])
torch.manual_seed(setting["run"]); torch.set_num_threads(1)
x, y = (torch.tensor(data[name], dtype=torch.float32) for name in ("x", "y"))
tx, ty = (torch.tensor(data[name], dtype=torch.float32) for name in ("tx", "ty"))
model = torch.nn.Linear(x.shape[1], 1)
torch.nn.init.zeros_(model.weight); torch.nn.init.zeros_(model.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=setting["rate"])
loader = DataLoader(TensorDataset(x, y), batch_size=setting["batch"])
epochs = round(setting["steps"] / (len(x) / setting["batch"]))
engine = PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private_with_epsilon(module=model, optimizer=optimizer, data_loader=loader,
    target_epsilon=1.0, target_delta=setting["delta"], epochs=epochs, max_grad_norm=setting["clip"],
    poisson_sampling=True)
loss, kept, steps = torch.nn.BCEWithLogitsLoss(), [], 0
for _ in range(epochs):
    for bx, by in loader:
        optimizer.zero_grad()
        if len(bx):
            loss(model(bx).squeeze(1), by).backward()
        optimizer.step(); steps += 1
        kept.append(torch.cat([p.detach().reshape(-1) for p in model.parameters()]).clone())
mean = torch.stack(kept[len(kept) // 2:]).mean(0)
def share(flat): return float((((tx @ flat[:-1] + flat[-1]) > 0) == (ty > 0.5)).float().mean())
noise = optimizer.noise_multiplier
print(json.dumps({"last": share(kept[-1]), "averaged": share(mean), "noise": noise, "steps": steps}))
"""


def opacus_accuracies(adult: Adult, python: str, runs: int, folder: Path) -> list[dict[str, Any]]:
    """What opacus reaches with the same model, data, clip, step length and number of steps, run by run."""
    file = folder / "adult.npz"
    x, tx = adult.rows.inputs(adult.trained), adult.rows.inputs(adult.tested)
    np.savez(file, x=x, y=adult.labels[adult.trained], tx=tx, ty=adult.labels[adult.tested])
    found = []
    for run in range(runs):
        setting = {"run": run, "batch": BATCH, "steps": STEPS, "clip": CLIP, "rate": RATE, "delta": DELTA}
        command = [python, "-c", _OPACUS, str(file), json.dumps(setting)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def results(folder: Path, python: str | None, runs: int, work: Path) -> Iterator[Mapping[str, Any]]:
    """One entry for each way of training."""
    adult = read_adult(folder)
    share = float(adult.labels[adult.tested].mean())
    yield {"training": "commonest label", "accuracy": [1 - share]}
    yield {"training": "no privacy", "accuracy": [train(adult, None, run) for run in range(runs)]}
    for name, noise in multipliers(adult).items():
        start = time.perf_counter()
        found = [train(adult, noise, run) for run in range(runs)]
        seconds = (time.perf_counter() - start) / runs
        yield {"training": f"trasgo, {name}", "noise": noise, "accuracy": found, "seconds": seconds}
    if python is not None:
        start = time.perf_counter()
        peers = opacus_accuracies(adult, python, runs, work)
        seconds = (time.perf_counter() - start) / runs
        for key in ("last", "averaged"):
            found = [peer[key] for peer in peers]
            name = f"opacus, add or remove, {key} weights"
            yield {"training": name, "noise": peers[0]["noise"], "accuracy": found, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[3] / "shared" / "data")
    parser.add_argument("--opacus", help="a Python that has torch and opacus")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path())
    chosen = parser.parse_args()
    for entry in results(chosen.data, chosen.opacus, chosen.runs, chosen.work):
        found = np.array(entry["accuracy"])
        noise, seconds = entry.get("noise"), entry.get("seconds")
        sys.stdout.write(
            f"| {entry['training']} | {'' if noise is None else f'{noise:.3f}'} | {100 * found.mean():.2f} | "
            f"{100 * found.min():.2f} to {100 * found.max():.2f} | {'' if seconds is None else f'{seconds:.1f}'} |\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
