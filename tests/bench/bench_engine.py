# SPDX-License-Identifier: GPL-3.0-or-later
"""How long planning, judging, localising and rendering take for a simulated screening, how much memory, and how that grows.

Each size runs in a process of its own. Goal for 1,000 hosts with 8 rails: below 5 s and 300 MB (printed, not asserted).
"""

from __future__ import annotations

import importlib
import json
import pathlib
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

TESTS = pathlib.Path(__file__).resolve().parents[1]
SIZES = (250, 1000, 4000)
RAILS = 8
GOAL = {"hosts": 1000, "seconds": 5.0, "megabytes": 300.0}
T = TypeVar("T")
PHASES = ("plan", "judge", "localise", "render")


def megabytes() -> float:
    """The most memory this process has used so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Clock:
    """Adds up the seconds of each phase, and those the processor worked for them."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.cpu_seconds = 0.0

    def time(self, phase: str, work: Callable[[], T]) -> T:
        begin, busy = time.perf_counter(), time.process_time()
        try:
            return work()
        finally:
            self.seconds[phase] += time.perf_counter() - begin
            self.cpu_seconds += time.process_time() - busy


def measure(hosts: int) -> dict[str, Any]:
    """One verification of simulated hosts, of which one in fifty has a fault."""
    sys.path.insert(0, str(TESTS))
    importlib.import_module("conftest").pytest_configure()
    collection = "ansible_collections.rdma.k8s"
    simulation = importlib.import_module(f"{collection}.tests.unit.simulation.fabric")
    rendered = importlib.import_module(f"{collection}.tests.unit.rendered_report")
    engine = {name: importlib.import_module(f"{collection}.plugins.plugin_utils.{name}") for name in ("rounds", "judge", "localise")}
    clock, at_start = Clock(), megabytes()
    fabric = simulation.Fabric(hosts, RAILS)
    fabric.faults = some_faults(simulation, fabric.hosts)
    plan = clock.time("plan", partial(engine["rounds"].plan_rounds, fabric.hosts, fabric.rails_of_host, rails_at_once=True))
    judged: list[dict[str, Any]] = []
    rounds, extra = plan["rounds"], -len(plan["rounds"])
    while rounds:
        measured = fabric.measure(rounds)
        extra += len(rounds)
        judged += clock.time("judge", partial(engine["judge"].judge, measured, [], fabric.rails_by_host))
        result = clock.time("localise", partial(engine["localise"].localise, judged, plan=plan, rails_at_once=True))
        rounds = result["next_rounds"]
    run = {"kind": "verify_hosts", "attempts": judged, "findings": result["findings"], "plan": plan, "rails": fabric.rails_by_host}
    texts = clock.time("render", partial(rendered.render_all, {**run, "started": 0.0, "finished": 60.0}))
    return {
        "hosts": hosts,
        "attempts": len(judged),
        "faults": len(fabric.faults),
        "findings": len(result["findings"]),
        "extra_rounds": extra,
        **clock.seconds,
        "cpu_seconds": clock.cpu_seconds,
        "seconds": sum(clock.seconds.values()),
        "megabytes": megabytes(),
        "megabytes_at_start": at_start,
        "kilobytes": {name: len(text) // 1024 for name, text in texts.items()},
    }


def some_faults(simulation: Any, hosts: list[str]) -> list[Any]:
    """A fault for each fiftieth host: the host, one rail of it, or one direction of a rail."""
    chance = random.Random(1)
    bad = chance.sample(hosts, max(1, len(hosts) // 50))
    scopes = [chance.choice(("host", "rail", "send", "receive")) for _unused in bad]
    return [
        simulation.Fault(scope, host, None if scope == "host" else f"rail{chance.randrange(RAILS)}", factor=0.5)
        for scope, host in zip(scopes, bad, strict=True)
    ]


def main() -> None:
    """Print one row a size, then how it grows."""
    print(f"plan, judge, localise and render, {RAILS} rails a host, screening")
    print(
        f"{'hosts':>6} {'attempts':>9} {'faults':>7} {'found':>6} {'extra':>6}"
        + "".join(f"{phase:>10}" for phase in PHASES)
        + "     total       CPU  peak memory"
    )
    rows = []
    for hosts in SIZES:
        answer = subprocess.run([sys.executable, __file__, str(hosts)], check=True, capture_output=True, text=True).stdout
        row = json.loads(answer)
        rows.append(row)
        counts = f"{row['hosts']:>6} {row['attempts']:>9} {row['faults']:>7} {row['findings']:>6} {row['extra_rounds']:>6}"
        seconds = "".join(f"{row[phase]:>9.2f}s" for phase in PHASES)
        memory = f"{row['megabytes']:>8.0f} MB ({row['megabytes_at_start']:.0f} MB before)"
        print(f"{counts}{seconds}{row['seconds']:>9.2f}s{row['cpu_seconds']:>9.2f}s{memory}", flush=True)
    for small, big in zip(rows, rows[1:], strict=False):
        time_ratio, memory_ratio = big["cpu_seconds"] / small["cpu_seconds"], big["megabytes"] / small["megabytes"]
        growth = f"{small['hosts']} to {big['hosts']} hosts ({big['hosts'] // small['hosts']} times)"
        print(f"{growth}: {time_ratio:.1f} times the CPU time, {memory_ratio:.1f} times the memory")
    reached = next(row for row in rows if row["hosts"] == GOAL["hosts"])
    goal = f"goal for {GOAL['hosts']} hosts: below {GOAL['seconds']:g} s and {GOAL['megabytes']:g} MB"
    print(f"{goal}; reached {reached['seconds']:.2f} s ({reached['cpu_seconds']:.2f} s of CPU) and {reached['megabytes']:.0f} MB")
    print(f"size of its reports in kB: {reached['kilobytes']}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
    else:
        main()
