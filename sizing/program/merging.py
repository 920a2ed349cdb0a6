"""Requests of many classes: groups of like ones decide what is bought, and their sequences are packed one by one.

Classes are alike that differ in name, context and number only. Where they are more than a search over patterns can
tell apart, a program of bytes sees groups of neighbouring contexts, every sequence with the mean bytes of its group:
whole replicas, systems and Pods, and pools that hold any mix. First fit decreasing then puts the real sequences, each
with its own bytes, into the pools of those replicas. Where they do not all fit, the program is asked again with a
margin on every sequence. That margin is the loss, and it is stated.

What the program of bytes proves is no proof for the request. Bounds come from a relaxation that sees *parts* of
sequences: a class has so many for each of its sequences, in proportion to its bytes, and a part takes the least that
it takes in any class of its group, rounded down. So every plan of the request is one of that program too, with the
same Pods, systems and replicas.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from math import ceil

from sizing.facility.deployment import Precisions
from sizing.plan.choice import Choice, Sequences
from sizing.plan.plan import StageResult
from sizing.program.contents import FractionalContents
from sizing.program.deployments import Candidate
from sizing.program.exact import NotFound, formulate
from sizing.program.objective import TIE_BREAKS, Stage, stages_of
from sizing.program.search import TIE_BREAK_GAP, TIE_BREAK_NODES, Found, Progress, search
from sizing.program.sets import Sets, sets_of
from sizing.program.slack import RIGID, Slack
from sizing.program.solver import Effort, Minimised, Minimiser, stage_value
from sizing.request.request import Request, ServiceClass
from sizing.units.amounts import in_steps, percent

GROUPS = 12
"""Groups that the program of bytes sees of classes alike."""

BOUND_GROUPS = 4
"""Groups that the relaxation sees. It loses little by few: sequences cut into parts are nearly proportional."""

PARTS = 1_000
"""Parts of a sequence of the mean bytes of its group."""

MOST_NODES = 500
"""Nodes of one integer program: a count, so that an answer is the same on every machine (decision 9)."""

Group = tuple[ServiceClass, ...]
"""Classes alike that are searched as one, in the name of the first."""


@dataclass(frozen=True, slots=True)
class Merging:
    """Classes alike are merged where they are more than `most_alike`.

    A request of up to `most_apart` classes is searched class by class too, unless what groups decide is proven.
    `margins` are the shares by which sequences are taken larger, one after the other.
    """

    most_alike: int = 12
    most_apart: int = 100
    margins: tuple[Fraction, ...] = (Fraction(0), *(Fraction(2**step, 1000) for step in range(10)))


USUAL = Merging()
"""A search over patterns gets through 12 classes alike in seconds, and through 100 classes in a minute or two."""


def search_merged(
    request: Request,
    candidates: tuple[Candidate, ...],
    effort: Effort,
    progress: Progress = lambda _text: None,
    stages: Sequence[Stage] = (),
    slack: Slack = RIGID,
    tie_breaks: Sequence[Stage] = TIE_BREAKS,
    merging: Merging = USUAL,
) -> Found | NotFound:
    """`search`, in groups where more classes are alike than `merging` leaves apart and all demand is to be served.

    Of a request that is not too large for a search over patterns, the answer is that of groups only where it is proven.
    """
    stages = stages or stages_of(request)

    def search_apart() -> Found | NotFound:
        return search(request, candidates, effort, progress, stages, slack, tie_breaks)

    many = [alike for alike in classes_alike(request.classes) if len(alike) > merging.most_alike]
    if not many or slack.demand_parts or not sets_of(request, candidates, slack).can_serve_all():
        return search_apart()
    found = _search_groups(request, candidates, many, effort, progress, stages, slack, tie_breaks, merging)
    if isinstance(found, Found) and (len(request.classes) > merging.most_apart or found.is_within(effort.gap)):
        return found
    if isinstance(found, NotFound) and found.proven:
        return found
    apart = search_apart()
    if not isinstance(found, Found) or not isinstance(apart, Found):
        return found if isinstance(found, Found) else apart
    better, other = sorted((apart, found), key=lambda each: [stage.value for stage in each.stages])
    stages_of_both = tuple(_bounded_by_both(better.stages, other.stages))
    return replace(better, stages=stages_of_both, stopped=better.stopped or other.stopped)


def _bounded_by_both(better: Sequence[StageResult], other: Sequence[StageResult]) -> Iterator[StageResult]:
    """The better of two results; as long as both hold the same values, what either has shown binds both."""
    conditional, alike = False, True
    for result, also in zip(better, other, strict=True):
        bounds = [bound for bound in (result.bound, also.bound if alike else None) if bound is not None]
        bound = max(bounds, default=None)
        yield replace(result, bound=bound, conditional=conditional)
        conditional = conditional or bound != result.value
        alike = alike and result.value == also.value


def _search_groups(
    request: Request,
    candidates: tuple[Candidate, ...],
    many: Sequence[Sequence[ServiceClass]],
    effort: Effort,
    progress: Progress,
    stages: Sequence[Stage],
    slack: Slack,
    tie_breaks: Sequence[Stage],
    merging: Merging,
) -> Found | NotFound:
    """The least margin with which what groups decide holds every sequence; not found, perhaps, where none does."""
    relaxation = Relaxation(request, candidates, many, slack, effort)
    if relaxation.proves_that_there_is_none(stages[0]):
        return NotFound(proven=True, stopped=False)
    groups = [group for alike in many for group in groups_of(alike, GROUPS)]
    members = {service.name for group in groups for service in group}
    every_group = [*groups, *((service,) for service in request.classes if service.name not in members)]
    merged = in_steps(len(members), "classes")
    for margin in merging.margins:
        progress(f"{merged} in {in_steps(len(groups), 'groups')}, every sequence with {percent(margin, 1)} more bytes")
        sets = sets_of(*by_mean(request, candidates, every_group, margin), slack)
        found = plan_of_bytes(sets, effort, stages, tie_breaks)
        if found is None:
            break
        choice = packed(found.choice, request, candidates, every_group)
        if choice is not None:
            results = tuple(relaxation.bounded(found.stages, stages, progress))
            note = _note(merged, len(groups), margin)
            return Found(choice, results, found.stopped or relaxation.stopped, (note,))
    return NotFound(proven=False, stopped=relaxation.stopped)


def _note(merged: str, groups: int, margin: Fraction) -> str:
    return (
        f"{merged} were searched in {in_steps(groups, 'groups')} of like contexts, every sequence with the mean "
        f"bytes of its group and {percent(margin, 1)} more (the loss), then packed one by one with their own bytes; "
        "bounds are those of the classes themselves"
    )


def plan_of_bytes(
    sets: Sets, effort: Effort, stages: Sequence[Stage], tie_breaks: Sequence[Stage] = TIE_BREAKS
) -> Found | None:
    """Whole replicas, systems and Pods that hold all bytes, with no pools told; None where nothing was found.

    Kinds of system by themselves come first, as in `search`: small programs, and the best of them is the start of the
    whole one. The bounds are those of that program.
    """
    parts = sets.kinds_apart() if len(sets.systems) > 1 else []
    alone = [found for part in parts if (found := _minimised_in_turn(part, effort, stages)) is not None]
    start = min(alone, key=lambda each: each.values, default=None)
    whole = _minimised_in_turn(sets, effort, stages, start)
    if whole is None:
        return None
    best = whole if start is None else min(whole, start, key=lambda each: each.values)
    program = best.program
    for stage in tie_breaks:
        program.minimise(stage, TIE_BREAK_NODES, TIE_BREAK_GAP)
        program.hold(stage, program.value(stage))
    bounds = zip(stages, best.values, whole.bounds, strict=True)
    results = tuple(StageResult(stage.name, stage.unit, value, min(bound, value)) for stage, value, bound in bounds)
    return Found(program.formulation.choice(), results, whole.stopped or any(each.stopped for each in alone))


@dataclass(frozen=True, slots=True)
class _InTurn:
    """A program whose stages were minimised one after the other, with the values of its plan in all of them."""

    program: Minimiser
    values: tuple[int, ...]
    bounds: tuple[int, ...]
    stopped: bool


def _minimised_in_turn(
    sets: Sets, effort: Effort, stages: Sequence[Stage], start: "_InTurn | None" = None
) -> _InTurn | None:
    """None where no plan was found."""
    program = Minimiser(formulate(sets, FractionalContents(whole_replicas=True)), effort)
    if start is not None:
        program.start_from(start.program.formulation)
    bounds = []
    stopped = False
    for stage in stages:
        minimised = program.minimise(stage, MOST_NODES)
        stopped = stopped or minimised.stopped
        if not program.has_solution:
            return None
        bounds.append(minimised.bound)
        program.hold(stage, program.value(stage))
    values = tuple(stage_value(stage, program.formulation) for stage in stages)
    return _InTurn(program, values, tuple(bounds), stopped)


def classes_alike(classes: Iterable[ServiceClass]) -> list[list[ServiceClass]]:
    """Classes that differ in nothing but name, context and number; each list by context, the longest first."""
    alike: dict[tuple[object, ...], list[ServiceClass]] = defaultdict(list)
    for service in classes:
        alike[service.model.name, replace(service, name="", context=0, concurrency=0, demand=0)].append(service)
    return [sorted(members, key=lambda service: (-service.context, service.name)) for members in alike.values()]


def groups_of(alike: Sequence[ServiceClass], count: int) -> list[Group]:
    """At most `count` groups of neighbours, each with about the same tokens: narrow where sequences are long."""
    total = sum(service.context * service.demand for service in alike)
    numbered: list[tuple[int, ServiceClass]] = []
    before = 0
    for service in alike:
        tokens = service.context * service.demand
        numbered.append(((2 * before + tokens) * count // (2 * total), service))
        before += tokens
    return [tuple(service for _, service in group) for _, group in groupby(numbered, key=lambda each: each[0])]


def by_mean(
    request: Request, candidates: Sequence[Candidate], groups: Sequence[Group], margin: Fraction
) -> tuple[Request, tuple[Candidate, ...]]:
    """Request and candidates with groups whose sequences have their mean bytes and a margin.

    A candidate offers a group where it offers all members.
    """

    def mean_bytes(sizes: Mapping[str, int], group: Group) -> int | None:
        if any(service.name not in sizes for service in group):
            return None
        total = sum(sizes[service.name] * service.demand for service in group)
        return ceil(total * (1 + margin) / _sequences(group))

    return _grouped(request, candidates, [(group, _sequences(group)) for group in groups], mean_bytes)


def _sequences(group: Group) -> int:
    return sum(service.demand for service in group)


def _grouped(
    request: Request,
    candidates: Sequence[Candidate],
    groups: Sequence[tuple[Group, int]],
    bytes_of: Callable[[Mapping[str, int], Group], int | None],
) -> tuple[Request, tuple[Candidate, ...]]:
    """One class of so many sequences for each group; `bytes_of` one of them, by the sizes that a candidate offers."""
    members = {service.name for group, _ in groups for service in group}
    of_model: dict[str, list[Group]] = defaultdict(list)
    for group, _ in groups:
        of_model[group[0].model.name].append(group)
    narrowed = []
    for candidate in candidates:
        sizes = {name: size for name, size in candidate.sizes.items() if name not in members}
        for group in of_model[candidate.deployment.model.name]:
            size = bytes_of(candidate.sizes, group)
            if size is not None and size <= candidate.budget:
                sizes[group[0].name] = size
        if sizes:
            narrowed.append(Candidate(candidate.deployment, sizes))
    apart = (service for service in request.classes if service.name not in members)
    merged = (replace(group[0], concurrency=sequences, demand=sequences) for group, sequences in groups)
    return replace(request, classes=(*apart, *merged)), tuple(narrowed)


def packed(choice: Choice, request: Request, candidates: Sequence[Candidate], groups: Sequence[Group]) -> Choice | None:
    """A choice for groups, which tells no pools, as one for their members: pools are filled replica by replica.

    Every class is in a group. None where the sequences do not fit.
    """
    classes = {service.name: service for service in request.classes}
    served = dict(_served_members(choice, groups))
    pools: Counter[tuple[str, Sequences]] = Counter()
    left: dict[tuple[str, Precisions], dict[str, int]] = defaultdict(dict)
    for (name, pair), sequences in served.items():
        left[classes[name].model.name, pair][name] = sequences
    running: dict[tuple[str, Precisions], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        deployment = candidate.deployment
        if choice.replicas.get(deployment.id):
            running[deployment.model.name, deployment.precisions].append(candidate)
    for model, pair in sorted(left, key=str):
        waiting = left[model, pair]
        shortest = min(waiting, key=lambda name: (classes[name].context, name))
        # the largest sequences come first, and need not fit the smallest pools
        for candidate in sorted(running[model, pair], key=lambda each: (-each.alone(shortest), each.deployment.id)):
            most = choice.replicas[candidate.deployment.id] * candidate.deployment.pools_per_replica
            for pattern, count in first_fit_decreasing(candidate, most, waiting):
                pools[candidate.deployment.id, pattern] += count
        if any(waiting.values()):
            return None
    return replace(choice, pools=pools, served=served)


def _served_members(choice: Choice, groups: Sequence[Group]) -> Iterator[tuple[tuple[str, Precisions], int]]:
    """What is served of each class at each pair of precisions: members in order, the first at the first pair."""
    waiting = {group[0].name: [(service.name, service.demand) for service in reversed(group)] for group in groups}
    for (name, pair), sequences in sorted(choice.served.items(), key=str):
        left = sequences
        while left:
            member, wanted = waiting[name].pop()
            taken = min(left, wanted)
            left -= taken
            if taken < wanted:
                waiting[name].append((member, wanted - taken))
            yield (member, pair), taken


def first_fit_decreasing(candidate: Candidate, pools: int, left: dict[str, int]) -> Iterator[tuple[Sequences, int]]:
    """(sequences, pools filled so) of up to `pools` pools, the largest sequences first; taken away from `left`.

    Equal pools are one step: a pattern is used until it exhausts a class. So there are about as many patterns as
    classes, however many pools.
    """
    names = sorted(
        (name for name, count in left.items() if count and name in candidate.sizes),
        key=lambda name: (-candidate.sizes[name], name),
    )
    negative = [-candidate.sizes[name] for name in names]
    following = list(range(len(names) + 1))

    def first_left(at: int) -> int:
        """The first class from `at` on of which some are left."""
        end = at
        while following[end] != end:
            end = following[end]
        while following[at] != end:
            following[at], at = end, following[at]
        return end

    while pools:
        room, filled = candidate.budget, list[tuple[int, int]]()
        at = first_left(0)
        while at < len(names):
            count = min(left[names[at]], -room // negative[at])
            filled.append((at, count))
            room += negative[at] * count
            at = first_left(max(at + 1, bisect_left(negative, -room)))
        if not filled:
            return
        times = min(pools, *(left[names[at]] // count for at, count in filled))
        for at, count in filled:
            left[names[at]] -= count * times
            if not left[names[at]]:
                following[at] = at + 1
        pools -= times
        yield tuple(sorted((names[at], count) for at, count in filled)), times


class Relaxation:
    """Lower bounds of a request's stages, one after the other, from parts of sequences in pools that need not be whole.

    A class may be split between precisions here, as a group is.
    """

    def __init__(
        self,
        request: Request,
        candidates: Sequence[Candidate],
        many: Sequence[Sequence[ServiceClass]],
        slack: Slack,
        effort: Effort,
    ) -> None:
        groups = [group for alike in many for group in groups_of(alike, BOUND_GROUPS)]
        parts = dict(_parts(candidates, groups))

        def bytes_of_part(sizes: Mapping[str, int], group: Group) -> int | None:
            offered = [service.name for service in group if service.name in sizes]
            return min((sizes[name] // parts[name] for name in offered), default=None)

        numbered = [(group, sum(parts[service.name] * service.demand for service in group)) for group in groups]
        policy = replace(request.policy, split_precision=True)
        self._sets = sets_of(*_grouped(replace(request, policy=policy), candidates, numbered, bytes_of_part), slack)
        self._effort = effort
        self._held: list[tuple[Stage, int]] = []
        self._relaxations: dict[bool, Minimiser] = {}
        self._most_parts = max(parts.values())
        self.stopped = False

    def _relaxed(self, whole_replicas: bool) -> Minimiser:
        """With whole replicas: a stronger bound, and a harder program."""
        if whole_replicas not in self._relaxations:
            minimiser = Minimiser(formulate(self._sets, FractionalContents(whole_replicas)), self._effort)
            for stage, value in self._held:
                minimiser.hold(stage, value)
            self._relaxations[whole_replicas] = minimiser
        return self._relaxations[whole_replicas]

    def proves_that_there_is_none(self, stage: Stage) -> bool:
        """Whether not even fractions of replicas serve all."""
        return self._minimise(self._relaxed(whole_replicas=False), stage).infeasible

    def bound(self, stage: Stage, value: int) -> int:
        """A lower bound of a stage under those held, as strong as one that proves a value if it can be."""
        best = stage.floor
        for whole_replicas in (False, True):
            if best < value:
                minimised = self._minimise(self._relaxed(whole_replicas), stage)
                best = max(best, ceil(Fraction(minimised.bound, self._scale(stage))))
        return min(best, value)

    def _minimise(self, minimiser: Minimiser, stage: Stage) -> Minimised:
        minimised = minimiser.minimise(stage, MOST_NODES)
        self.stopped = self.stopped or minimised.stopped
        return minimised

    def bounded(
        self, results: Sequence[StageResult], stages: Sequence[Stage], progress: Progress
    ) -> Iterator[StageResult]:
        """The values of a plan, with bounds that hold for the request."""
        conditional = False
        for result, stage in zip(results, stages, strict=True):
            known = self.bound(stage, result.value)
            yield replace(result, bound=known, conditional=conditional)
            proof = "proven" if known == result.value else f"at least {in_steps(known, result.unit)}"
            progress(f"{stage.name}: {in_steps(result.value, stage.unit)}, {proof}")
            conditional = conditional or known < result.value
            self._hold(stage, result.value * self._scale(stage))

    def _hold(self, stage: Stage, value: int) -> None:
        self._held.append((stage, value))
        for relaxation in self._relaxations.values():
            relaxation.hold(stage, value)

    def _scale(self, stage: Stage) -> int:
        """What a stage may count for one sequence served where it should count 1: stages of precision count parts."""
        formulation = self._relaxed(whole_replicas=False).formulation
        served = {id(variable) for variable in formulation.model.served.values()}
        counts_sequences = any(coefficient and id(term) in served for coefficient, term in stage.terms(formulation))
        return self._most_parts if counts_sequences else 1


def _parts(candidates: Sequence[Candidate], groups: Sequence[Group]) -> Iterator[tuple[str, int]]:
    """Parts of one sequence of each member, in proportion to its bytes where most of its group are offered.

    Each part is at least a byte, wherever it is held.
    """
    least: dict[str, int] = {}
    for candidate in candidates:
        for name, size in candidate.sizes.items():
            least[name] = min(size, least.get(name, size))
    for group in groups:
        names = {service.name for service in group}
        sizes = max((candidate.sizes for candidate in candidates), key=lambda sizes: len(names & sizes.keys()))
        longest = max(sizes[name] for name in names & sizes.keys())
        offered = {name: sizes.get(name, longest) for name in names}
        sequences, total = _sequences(group), sum(offered[service.name] * service.demand for service in group)
        for service in group:
            parts = PARTS * offered[service.name] * sequences // total
            yield service.name, max(1, min(parts, least[service.name]))
