"""Whether another KV precision would do: the next of the catalog that the GPUs support."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fractions import Fraction

from sizing.advice.questions import Questions
from sizing.plan.plan import Relaxation
from sizing.plan.words import KV_PRECISION
from sizing.pool.precision import KvPrecision
from sizing.program.deployments import enumerate_options
from sizing.program.search import Found
from sizing.request.request import Request, ServiceClass

MOST_CLASSES = 6
"""Classes that are asked about one by one: those with the largest caches."""

Allowed = Mapping[str, KvPrecision]
"""A further KV precision by class."""

Further = Mapping[str, Sequence[KvPrecision]]
"""The further KV precisions of every class, in the order of the catalog."""


def further_precisions(request: Request, service: ServiceClass, generations: AbstractSet[str]) -> Iterator[KvPrecision]:
    """What a class could accept too, in the order of the catalog: of fewer bits, or on further of these GPUs.

    What is counted from is what the class accepts, and what came before.
    """
    before = list(service.kv_precisions)
    for kv in request.kv_precisions:
        on = kv.generations & generations
        if on and not any(other.bits.value <= kv.bits.value and on <= other.generations for other in before):
            before.append(kv)
            yield kv


def largest_classes(request: Request) -> list[ServiceClass]:
    """The classes with the largest caches, by tokens; so many as are asked about one by one."""
    tokens = sorted(request.classes, key=lambda service: (-service.demand * service.context, service.name))
    return tokens[:MOST_CLASSES]


def other_precisions(questions: Questions) -> tuple[tuple[Relaxation, ...], ...]:
    """For each class the next KV precision that makes the request feasible when no other class changes.

    Where none does by itself, the fewest classes found that do so together, each at its fewest bits. Empty where
    that helps nothing, or is not known to.
    """
    request = questions.request
    generations = {system.gpu.generation for system in request.candidates}
    found = {
        service.name: tuple(further_precisions(request, service, generations)) for service in largest_classes(request)
    }
    further = {name: kvs for name, kvs in found.items() if kvs}
    if not further or not _fits(questions, further):
        return ()
    ways = [allowed for name, kvs in further.items() if (allowed := _first(questions, name, kvs)) is not None]
    if not ways and len(further) > 1:
        ways = _fewest(questions, {name: min(kvs, key=_bits) for name, kvs in further.items()})
    return tuple(tuple(_relaxation(request, name, kv) for name, kv in sorted(way.items())) for way in ways)


def _first(questions: Questions, name: str, further: Sequence[KvPrecision]) -> Allowed | None:
    """The first further precision of one class that suffices; whether any does is asked after the first."""
    first, *rest = further
    if _fits(questions, {name: [first]}):
        return {name: first}
    if not rest or not _fits(questions, {name: rest}):
        return None
    return next(({name: kv} for kv in rest if _fits(questions, {name: [kv]})), None)


def _fewest(questions: Questions, allowed: Allowed) -> list[Allowed]:
    """What is left when every class that can be spared is; none where not even all of them together suffice."""
    if not _fits(questions, {name: [kv] for name, kv in allowed.items()}):
        return []
    for name in list(allowed):
        rest = {other: kv for other, kv in allowed.items() if other != name}
        if rest and _fits(questions, {other: [kv] for other, kv in rest.items()}):
            allowed = rest
    return [allowed]


def _bits(kv: KvPrecision) -> Fraction:
    return kv.bits.value


def _fits(questions: Questions, allowed: Further) -> bool:
    """Whether there is a plan, known to be one, where classes accept these too."""
    if questions.is_out_of_time():
        return False
    request = questions.request
    classes = tuple(
        replace(service, kv_precisions=(*service.kv_precisions, *allowed.get(service.name, ())))
        for service in request.classes
    )
    asked = replace(request, classes=classes)
    return isinstance(questions.any_plan(about=asked, among=enumerate_options(asked).candidates), Found)


def _relaxation(request: Request, name: str, kv: KvPrecision) -> Relaxation:
    service = next(service for service in request.classes if service.name == name)
    accepted = ", ".join(each.name for each in service.kv_precisions)
    return Relaxation(f"{KV_PRECISION}{name}", None, accepted, kv.name, "KV precision")
