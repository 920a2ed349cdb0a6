"""The token budget, line by line: bought = idle + reserve + weights + committed + spare + remainder, to the byte."""

from dataclasses import dataclass
from fractions import Fraction

from sizing.plan.plan import Plan
from sizing.report.text import share
from sizing.request.request import Policy


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """`tokens` is None where a line holds none. `is_sum` marks lines that repeat others."""

    name: str
    size_bytes: int
    meaning: str
    tokens: int | None = None
    is_sum: bool = False

    def share_of(self, bought: int) -> Fraction:
        """Its share of the HBM bought; 0 of nothing."""
        return Fraction(self.size_bytes, bought) if bought else Fraction(0)


def memory_lines(plan: Plan) -> tuple[MemoryLine, ...]:
    """HBM bought, what is taken from it, what is left for KV cache, and how that is used."""
    memory, tokens, policy = plan.memory, plan.tokens, plan.request.policy
    left = memory.bought - memory.idle - memory.reserve - memory.weights
    return (
        MemoryLine("HBM bought", memory.bought, f"all GPUs, by {policy.hbm}", is_sum=True),
        MemoryLine("idle GPUs", memory.idle, "GPUs that are in no replica"),
        MemoryLine("reserve", memory.reserve, reserve_rule(policy)),
        MemoryLine("weights", memory.weights, "every copy, on every GPU that holds it"),
        MemoryLine("left for KV cache", left, "bought less the three lines above", tokens.capacity, is_sum=True),
        MemoryLine("committed", memory.committed, "sequences that are asked for", tokens.committed),
        MemoryLine("spare", memory.spare, "further tokens that the pools can hold", tokens.spare),
        MemoryLine("remainder", memory.remainder, _remainder(plan)),
    )


def _remainder(plan: Plan) -> str:
    """Why no token takes it: pools round down, and a state does not grow with tokens."""
    rest = "less than one token in each pool"
    states = "room that no token takes, where only states are kept: they do not grow with tokens"
    grows = {bool(planned.deployment.bytes_per_token) for planned in plan.deployments}
    if False not in grows:
        return rest
    return f"{rest}; {states}" if True in grows else states


def reserve_rule(policy: Policy) -> str:
    """The reserve of a pool: a share of HBM, or what the engine profile takes instead (decision 2)."""
    if policy.engine == "ideal":
        return f"{share(policy.reserve)} of the HBM of GPUs in replicas"
    return f"what {policy.engine} leaves unused or takes beside weights and cache"
