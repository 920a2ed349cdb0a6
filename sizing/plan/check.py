"""The independent check: a finished plan against its request, container by container.

Everything is worked out anew from the request and the physics, nothing is taken from the plan's own figures, and
nothing is known here of the program that found the plan. A later limit is one function in `checks/` and one line here.
"""

from collections.abc import Callable, Iterator

from sizing.plan.checks.buildings import (
    figures_are_known_where_needed,
    fills_fit_pods,
    installed_stands,
    limits_are_told,
    only_candidates_are_bought,
    pods_hold_their_fill,
    sites_are_kept,
    systems_stand_in_pods,
)
from sizing.plan.checks.case import Case
from sizing.plan.checks.names import names_are_known
from sizing.plan.checks.places import (
    domains_are_placed_once,
    replicas_are_placed,
    replicas_fit_domains,
    spare_systems_are_empty,
)
from sizing.plan.checks.pools import (
    budgets_are_right,
    classes_are_served,
    classes_keep_one_precision,
    classes_stay_with_their_model,
    layouts_are_legal,
    placements_are_told,
    pools_make_replicas,
    precisions_are_supported,
    sequences_fit_pools,
)
from sizing.plan.checks.stages import stages_are_reached, status_is_earned
from sizing.plan.checks.sums import memory_adds_up, request_is_repeated, tokens_add_up, totals_add_up
from sizing.plan.plan import Plan

Check = Callable[[Case], Iterator[str]]

CHECKS: tuple[Check, ...] = (
    # pool
    layouts_are_legal,
    precisions_are_supported,
    budgets_are_right,
    sequences_fit_pools,
    classes_stay_with_their_model,
    # replica
    pools_make_replicas,
    classes_are_served,
    classes_keep_one_precision,
    placements_are_told,
    # domain
    domains_are_placed_once,
    replicas_fit_domains,
    replicas_are_placed,
    spare_systems_are_empty,
    # system, Pod and site
    systems_stand_in_pods,
    installed_stands,
    only_candidates_are_bought,
    fills_fit_pods,
    pods_hold_their_fill,
    figures_are_known_where_needed,
    sites_are_kept,
    limits_are_told,
    # what the plan says of itself
    totals_add_up,
    tokens_add_up,
    memory_adds_up,
    stages_are_reached,
    status_is_earned,
    request_is_repeated,
)


def check(plan: Plan) -> tuple[str, ...]:
    """What is wrong with a plan, in sentences; empty where it holds.

    Where a plan names what the request does not offer, only that is told: the rest cannot be worked out.
    """
    case = Case(plan)
    return tuple(names_are_known(case)) or tuple(finding for each in CHECKS for finding in each(case))
