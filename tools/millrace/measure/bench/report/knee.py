# SPDX-License-Identifier: Apache-2.0
"""The same load over more and more connections: how much each number brings, and which one is enough. Pure."""

from collections.abc import Mapping

from millrace.measure.bench.plan import connections
from millrace.measure.bench.plan.connections import MountConnections
from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.model import REPEATABLE, BenchRun, BenchState

OVER = {
    "connections": connections.TO_ONE_ADDRESS,
    # one connection to one address is the first of both
    "addresses": {"nfs-tcp-1": MountConnections(), **connections.OVER_ADDRESSES},
}
WORDS = {"stream": "1 MiB reads", "small": "4 KiB reads"}


def knees(run: BenchRun) -> list[str]:
    """Return a sentence for each load: parts of the best rate, and the least number within 5 % of it.

    5 % is what repeats may differ by.
    """
    sentences = []
    for layer in (BenchLayer.L2, BenchLayer.L3):
        for operation, word in WORDS.items():
            for over, targets in OVER.items():
                rates = _rates(run, layer, operation, targets)
                if len(rates) > 1:
                    sentences.append(f"{layer}, {word} over {over}: {_sentence(rates)}")
    return sentences


def _rates(
    run: BenchRun, layer: BenchLayer, operation: str, targets: Mapping[str, MountConnections]
) -> dict[int, float]:
    """Operations a second by the number of connections."""
    ids = {f"{layer}/{target}/{BenchProfile.CONNECTIONS}/{operation}": wanted.all for target, wanted in targets.items()}
    rungs = [rung for rung in run.rungs if rung.id in ids and rung.state is BenchState.DONE]
    return {ids[rung.id]: series.median for rung in rungs if (series := rung.find("operations"))}


def _sentence(rates: Mapping[int, float]) -> str:
    best = max(rates.values())
    enough = min(number for number, rate in rates.items() if rate >= best * (1 - REPEATABLE))
    parts = ", ".join(f"{number}: {rate / best:.0%}" for number, rate in sorted(rates.items()))
    if enough == max(rates):
        return f"{parts} of the best; more than {enough} may bring more"
    return f"{parts} of the best; {enough} {'is' if enough == 1 else 'are'} enough"
