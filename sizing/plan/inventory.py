"""What a plan buys, and what of it stands there already.

Pods and systems of a plan are all that stand when it is carried out. What a site has installed is a part of them;
the rest is bought.
"""

from collections import Counter
from collections.abc import Iterable

from sizing.plan.plan import FilledPods, Plan
from sizing.request.request import Request


def bought_systems(request: Request, pods: Iterable[FilledPods]) -> Counter[tuple[str, str]]:
    """Systems that are bought, by (site, kind); kinds of which none is bought are left out."""
    standing: Counter[tuple[str, str]] = Counter()
    for filled in pods:
        for name, count in filled.systems:
            standing[filled.site, name] += filled.count * count
    installed = {(site.name, name): count for site in request.sites for name, count in site.installed_systems.items()}
    return standing - Counter(installed)


def bought_pods(request: Request, pods: Iterable[FilledPods]) -> Counter[str]:
    """Pods that are bought, by site; sites for which none is bought are left out."""
    standing: Counter[str] = Counter()
    for filled in pods:
        standing[filled.site] += filled.count
    return standing - Counter({site.name: site.installed_pods for site in request.sites})


def installed_systems(request: Request) -> Counter[str]:
    """Systems that are installed, by kind, over all sites."""
    installed: Counter[str] = Counter()
    for site in request.sites:
        installed.update(site.installed_systems)
    return installed


def installed_pods(request: Request) -> int:
    """Pods that are installed, over all sites."""
    return sum(site.installed_pods for site in request.sites)


def to_buy(plan: Plan) -> tuple[int, dict[str, int]]:
    """(Pods, systems by kind) that are bought, over all sites."""
    systems: Counter[str] = Counter()
    for (_, name), count in bought_systems(plan.request, plan.pods).items():
        systems[name] += count
    return sum(bought_pods(plan.request, plan.pods).values()), dict(sorted(systems.items()))
