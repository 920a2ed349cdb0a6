"""A second look at a plan: what it hangs on among figures that are published in two ways, or as ranges.

Every answer says whether the other basis of HBM would change it (design, section 2), and whether ranges of kW leave the
choice of systems open (decision 8); where cost is a stage, whether ranges of prices do; where the policy names an
engine profile, what the arithmetic itself would plan. These are searches again, as
narrow as arithmetic makes them, and bounded.
"""

import time
from dataclasses import replace

from sizing.advice.other_hbm import other_hbm
from sizing.advice.power_ranges import power_ranges
from sizing.advice.price_ranges import price_ranges
from sizing.advice.without_engine import without_engine
from sizing.plan.plan import Plan, Sensitivity
from sizing.program.deployments import Candidate
from sizing.program.solver import Effort

MOST_NODES = 500
"""Nodes of one integer program: a count, so that what is settled is the same on every machine (decision 9)."""


def second_look(plan: Plan, candidates: tuple[Candidate, ...], effort: Effort) -> Plan:
    """The plan with what it hangs on. `candidates` are those that it was chosen from.

    Each look may take half of the time that is left. Where the clock stops one, the plan is not reproducible.
    """
    power, power_stopped = power_ranges(plan, candidates, _half_of(effort))
    hbm, hbm_stopped = other_hbm(plan, _half_of(effort))
    prices, prices_stopped = price_ranges(plan, candidates, _half_of(effort))
    ideal, ideal_stopped = without_engine(plan, _half_of(effort))
    stopped = power_stopped or hbm_stopped or prices_stopped or ideal_stopped
    return replace(
        plan,
        sensitivity=Sensitivity(hbm, power, prices, ideal),
        reproducible=plan.reproducible and not stopped,
    )


def _half_of(effort: Effort) -> Effort:
    """Half of the time that is left, and a bounded number of nodes."""
    left = max(0.0, effort.seconds_left)
    return replace(effort, deadline=time.monotonic() + left / 2, most_nodes=MOST_NODES)
