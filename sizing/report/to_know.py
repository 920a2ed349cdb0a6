"""What a reader must know before trusting a plan: the same sentences on the screen and in the workbook."""

from sizing.plan.bill import BillLine
from sizing.plan.plan import Plan
from sizing.report.cautions import (
    assumption_sentences,
    balance_sentences,
    clock_sentences,
    fewest_kinds_sentence,
    policy_sentence,
    weak_nameplates,
)
from sizing.report.sensitivity import sensitivity_sentences
from sizing.report.unsettled import (
    heat_split_sentences,
    pod_power_sentences,
    power_basis_sentences,
    tight_limit_sentences,
)


def to_know_sentences(plan: Plan, bill: tuple[BillLine, ...]) -> list[str]:
    """What could change the answer first, then what it assumes, then which of its figures are weak."""
    fewest_kinds = fewest_kinds_sentence(plan)
    return [
        *clock_sentences(plan),
        *tight_limit_sentences(plan),
        *([] if fewest_kinds is None else [fewest_kinds]),
        *sensitivity_sentences(plan),
        policy_sentence(plan),
        *power_basis_sentences(plan),
        *assumption_sentences(plan),
        *pod_power_sentences(plan),
        *weak_nameplates(plan),
        *heat_split_sentences(plan),
        *balance_sentences(plan, bill),
    ]
