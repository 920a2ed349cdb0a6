"""Weights in fewer bits for classes that fit no system: often the weights alone are what does not fit."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from sizing.advice.questions import Questions
from sizing.plan.plan import Relaxation
from sizing.plan.words import WEIGHTS
from sizing.program.deployments import enumerate_options
from sizing.program.search import Found
from sizing.request.request import Request, ServiceClass
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS, weight_bytes

MOST_CLASSES = 6
"""Classes that fit nowhere up to which this is asked."""


def other_weights(questions: Questions, fitting: Collection[str]) -> tuple[Relaxation, ...]:
    """For every class that fits nowhere, the format of most bits in which its model does; all of them together.

    Empty where that helps nothing, or is not known to.
    """
    request = questions.request
    lacking = [service for service in request.classes if service.name not in fitting]
    if not 0 < len(lacking) <= MOST_CLASSES or questions.is_out_of_time():
        return ()
    of_models: dict[str, list[ServiceClass]] = defaultdict(list)
    for service in lacking:
        of_models[service.model.name].append(service)
    further: dict[str, str] = {}
    for services in of_models.values():
        weights = _that_fit(request, services)
        if weights is None:
            return ()
        further.update((service.name, weights) for service in services)
    classes = tuple(
        _accepting(service, further[service.name]) if service.name in further else service
        for service in request.classes
    )
    asked = replace(request, classes=classes)
    if not isinstance(questions.any_plan(about=asked, among=enumerate_options(asked).candidates), Found):
        return ()
    return tuple(
        Relaxation(f"{WEIGHTS}{service.name}", None, ", ".join(service.weights), further[service.name], "weights")
        for service in lacking
    )


def _that_fit(request: Request, services: Sequence[ServiceClass]) -> str | None:
    """The format of most bits in which some system holds every one of these classes of a model."""
    accepted = {weights for service in services for weights in service.weights}
    for weights in fewer_bits(services[0].model, accepted):
        classes = tuple(_accepting(service, weights) for service in services)
        candidates = enumerate_options(replace(request, classes=classes)).candidates
        if all(any(service.name in candidate.sizes for candidate in candidates) for service in services):
            return weights
    return None


def _accepting(service: ServiceClass, weights: str) -> ServiceClass:
    return service if weights in service.weights else replace(service, weights=(*service.weights, weights))


def fewer_bits(model: ModelShape, accepted: Collection[str]) -> Iterator[str]:
    """Formats in which one copy of a model is smaller than in any that is accepted, the largest first."""
    sizes = {name: weight_bytes(model, form).one_copy for name, form in FORMATS.items()}
    smaller = [name for name in sizes if sizes[name] < min(sizes[each] for each in accepted)]
    yield from sorted(smaller, key=lambda name: (-sizes[name], name))
