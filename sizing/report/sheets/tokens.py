"""Sheet `Token budget`: where the HBM goes, by line, by model, by deployment and by pool, to the byte."""

from collections.abc import Iterator

from sizing.plan.plan import PlannedDeployment
from sizing.report.assumed import assumed
from sizing.report.cells import Accepts, Cell, Input, Reference, added, at, check, formula, span
from sizing.report.holdings import gpus_decomposed
from sizing.report.memory_lines import memory_lines
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported, kept
from sizing.report.sheets.classes import KEPT, SEQUENCES
from sizing.report.styles import Style
from sizing.units.amounts import GB, GIB

BUDGET, MODELS, DEPLOYMENTS, POOLS, HELD = "budget", "models", "deployments", "pools", "held"
HBM = "HBM of all GPUs"
"""What is installed already is in it, and was not bought."""
POOL_BUDGETS, IN_ALL = "pool budgets", "deployments in all"

BUDGET_COLUMNS = (
    Column("Line", most=46, key="line"),
    Column("Bytes", style=Style.COUNT, key="bytes"),
    Column("Size", "GiB", Style.ONE_DECIMAL, key="gib"),
    Column("Size", "GB", Style.ONE_DECIMAL, key="gb"),
    Column("Share of HBM", style=Style.SHARE, key="share"),
    Column("Tokens", style=Style.COUNT, key="tokens"),
    Column("Meaning", style=Style.RUN_ON),
)
MODEL_COLUMNS = (
    Column("Model", most=46),
    Column("Committed", "tokens", Style.COUNT, key="committed"),
    Column("Spare", "tokens", Style.COUNT, key="spare"),
    Column("Capacity", "tokens", Style.COUNT, key="capacity"),
)
DEPLOYMENT_COLUMNS = (
    Column("Deployment", most=46),
    Column("No.", style=Style.COUNT, key="number"),
    Column("GPUs of a pool", style=Style.COUNT, key="tp"),
    Column("Pools of a replica", style=Style.COUNT, key="adp"),
    Column("Replicas", style=Style.COUNT, key="replicas"),
    Column("Pools", style=Style.COUNT, key="pools"),
    Column("GPUs", style=Style.COUNT, key="gpus"),
    Column("Check", most=20, key="check"),
    Column("As planned", style=Style.RUN_ON),
)
POOL_BUDGET_COLUMNS = (
    Column("Deployment", most=46),
    Column("No.", style=Style.COUNT, key="number"),
    Column("HBM", "bytes a pool", Style.COUNT, key="hbm"),
    Column("Reserve", "bytes a pool", Style.COUNT, key="reserve"),
    Column("Weights", "bytes a pool", Style.COUNT, key="weights"),
    Column("Left for KV", "bytes a pool", Style.COUNT, key="budget"),
    Column("One more token", "bytes", Style.TWO_DECIMALS, key="token"),
)
IN_ALL_COLUMNS = (
    Column("Deployment", most=46),
    Column("No.", style=Style.COUNT, key="number"),
    Column("Committed", "tokens", Style.COUNT, key="committed"),
    Column("Spare", "tokens", Style.COUNT, key="spare"),
    Column("Reserve", "bytes", Style.COUNT, key="reserve"),
    Column("Weights", "bytes", Style.COUNT, key="weights"),
    Column("Spare", "bytes", Style.COUNT, key="spare_bytes"),
    Column("Remainder", "bytes", Style.COUNT, key="remainder"),
)
POOL_COLUMNS = (
    Column("Deployment", most=46),
    Column("No.", style=Style.COUNT, key="number"),
    Column("Way", style=Style.COUNT, key="way"),
    Column("Such pools", style=Style.COUNT, key="count"),
    Column("Left for KV", "bytes a pool", Style.COUNT, key="budget"),
    Column("Committed", "bytes a pool", Style.COUNT, key="committed"),
    Column("Free", "bytes a pool", Style.COUNT, key="free"),
    Column("Committed", "tokens a pool", Style.COUNT, key="tokens"),
    Column("Spare", "tokens a pool", Style.COUNT, key="spare"),
    Column("Check", most=20, key="check"),
)
HELD_COLUMNS = (
    Column("Deployment", most=46),
    Column("No.", style=Style.COUNT, key="number"),
    Column("Way", style=Style.COUNT, key="way"),
    Column("Held in a pool", "sequences", Style.COUNT, key="held"),
    Column("One sequence", "bytes", Style.COUNT, key="size"),
    Column("Bytes in a pool", style=Style.COUNT, key="bytes"),
    Column("Tokens in a pool", style=Style.COUNT, key="tokens"),
    Column("In all", "sequences", Style.COUNT, key="all"),
    Column("In all", "tokens", Style.COUNT, key="all_tokens"),
    Column("Class", most=30, key="class"),
)


def write(page: Page, reported: Reported) -> None:
    """The budget, then its parts."""
    page.title(
        "Token budget",
        f"{HBM} = idle GPUs + reserve + weights + committed + spare + remainder, to the byte",
        "GB = 10^9 bytes, GiB = 2^30 bytes",
    )
    page.table(BUDGET_COLUMNS, _budget(reported), name=BUDGET)
    page.section("By model")
    page.table(MODEL_COLUMNS, _models(reported), name=MODELS)
    page.section("By deployment")
    page.table(DEPLOYMENT_COLUMNS, _deployments(reported), name=DEPLOYMENTS)
    page.section("By deployment: one pool")
    page.table(POOL_BUDGET_COLUMNS, _pool_budgets(reported), name=POOL_BUDGETS)
    page.section("By deployment: all its pools")
    page.table(IN_ALL_COLUMNS, _in_all(reported), name=IN_ALL)
    page.section("By pool: every way in which pools are filled")
    page.table(POOL_COLUMNS, _pools(reported), name=POOLS)
    page.section("What each way holds")
    page.table(HELD_COLUMNS, _held(reported), name=HELD)


def _budget(reported: Reported) -> Iterator[Row]:
    """Lines as on the screen; each counts what its tables below say."""
    kinds = sorted(reported.kinds)
    hbm = {f"hbm_{place}": assumed("system", name, "hbm") for place, name in enumerate(kinds)}

    def of_gpus(column: str) -> tuple[str, dict[str, Reference]]:
        gpus = {f"gpus_{place}": at("kinds", column, name) for place, name in enumerate(kinds)}
        terms = [f"{{gpus_{place}}}*ROUND({{hbm_{place}}}*10^9,0)" for place, _ in enumerate(kinds)]
        return "+".join(terms) or "0", {**gpus, **hbm}

    def column(table: str, key: str) -> Reference:
        return Reference(table, key)

    def line(key: str) -> Reference:
        return at(BUDGET, "bytes", key)

    texts: dict[str, tuple[str, dict[str, Reference]]] = {
        "HBM bought": of_gpus("gpus"),
        "idle GPUs": of_gpus("idle"),
        "reserve": ("SUM({each})", {"each": column(IN_ALL, "reserve")}),
        "weights": ("SUM({each})", {"each": column(IN_ALL, "weights")}),
        "left for KV cache": (
            "{bought}-{idle}-{reserve}-{weights}",
            {
                "bought": line("HBM bought"),
                "idle": line("idle GPUs"),
                "reserve": line("reserve"),
                "weights": line("weights"),
            },
        ),
        "committed": (
            "SUMPRODUCT({pools},{each})",
            {"pools": column(POOLS, "count"), "each": column(POOLS, "committed")},
        ),
        "spare": ("SUM({each})", {"each": column(IN_ALL, "spare_bytes")}),
        "remainder": ("SUM({each})", {"each": column(IN_ALL, "remainder")}),
    }
    tokens = {
        "left for KV cache": (
            "{committed}+{spare}",
            {key: at(BUDGET, "tokens", key) for key in ("committed", "spare")},
        ),
        "committed": ("SUM({each})", {"each": column(IN_ALL, "committed")}),
        "spare": ("SUM({each})", {"each": column(IN_ALL, "spare")}),
    }
    bought = reported.plan.memory.bought
    for memory in memory_lines(reported.plan):
        size = memory.size_bytes
        text, references = texts[memory.name]
        counted: Cell = None
        if memory.tokens is not None:
            of_tokens, cells = tokens[memory.name]
            counted = formula(of_tokens, memory.tokens, **cells)
        yield Row(
            (
                HBM if memory.name == "HBM bought" else memory.name,
                formula(text, size, **references),
                formula("{bytes}/2^30", size / GIB),
                formula("{bytes}/10^9", size / GB),
                formula("IF({all}>0,{bytes}/{all},0)", memory.share_of(bought), all=line("HBM bought")),
                counted,
                f"as planned: {memory.meaning}" if memory.name == "reserve" else memory.meaning,
            ),
            key=memory.name,
            highlighted=memory.is_sum,
        )


def _models(reported: Reported) -> Iterator[Row]:
    plan = reported.plan
    for model, tokens in plan.tokens_by_model.items():
        numbers = [number for number, planned in reported.deployments if planned.deployment.model.name == model]
        yield Row(
            (
                model,
                added([at(IN_ALL, "committed", number) for number in numbers], tokens.committed),
                added([at(IN_ALL, "spare", number) for number in numbers], tokens.spare),
                formula("{committed}+{spare}", tokens.capacity),
            ),
            key=model,
        )
    sums = {
        key: formula("SUM({each})", value, each=Reference(MODELS, key))
        for key, value in (
            ("committed", plan.tokens.committed),
            ("spare", plan.tokens.spare),
            ("capacity", plan.tokens.capacity),
        )
    }
    yield Row(("All models", *sums.values()), is_sum=True, key="all")


def _deployments(reported: Reported) -> Iterator[Row]:
    for number, planned in reported.deployments:
        layout = planned.deployment.layout
        values: tuple[Cell, ...] = (
            planned.deployment.id,
            number,
            layout.tp,
            layout.attention_dp,
            Input(planned.replicas, Accepts.COUNT, decision=True),
            formula("{replicas}*{adp}", planned.pools),
            formula("{pools}*{tp}", planned.gpus),
            check(
                'IF(SUM({counts})<={pools},"ok","more pools filled than there are")',
                "ok",
                counts=span(POOLS, "count", _ways(number, planned)),
            ),
            gpus_decomposed(planned),
        )
        yield Row(values, key=number)


def _ways(number: int, planned: PlannedDeployment) -> list[tuple[int, int]]:
    return [(number, way) for way, _ in enumerate(planned.patterns, start=1)]


def _pool_budgets(reported: Reported) -> Iterator[Row]:
    for number, planned in reported.deployments:
        deployment, budget = planned.deployment, planned.deployment.budget
        cells = {"tp": at(DEPLOYMENTS, "tp", number), "gb": assumed("system", deployment.system.name, "hbm")}
        streams = [(number, place) for place, _ in enumerate(kept(deployment), start=1)]
        per_token = deployment.bytes_per_token
        if reported.plan.request.policy.profile is None:
            text, taken = "{tp}*ROUNDUP(ROUND({share}*ROUND({gb}*10^9,0),3),0)", assumed("policy", "reserve")
            reserve = formula(text, budget.reserve_bytes, share=taken, **cells)
        else:
            reserve = formula("{taken}", budget.reserve_bytes, taken=assumed("deployment", number, "reserve"))
        values: tuple[Cell, ...] = (
            deployment.id,
            number,
            formula("{tp}*ROUND({gb}*10^9,0)", budget.hbm_bytes, **cells),
            reserve,
            formula("{each}", budget.weight_bytes, each=assumed("deployment", number, "weights")),
            formula("{hbm}-{reserve}-{weights}", budget.kv_bytes),
            formula("SUM({each})", per_token, each=span(KEPT, "token", streams)) if streams else per_token,
        )
        yield Row(values, key=number)


def _in_all(reported: Reported) -> Iterator[Row]:
    contexts = {name: service.context for name, (_, service) in reported.classes.items()}
    for number, planned in reported.deployments:
        deployment, budget = planned.deployment, planned.deployment.budget
        ways, per_token = _ways(number, planned), deployment.bytes_per_token
        counts, pools = span(POOLS, "count", ways), at(DEPLOYMENTS, "pools", number)
        sizes = {name: deployment.sequence_bytes(contexts[name]) for name in _held_by(planned)}
        free = [
            (pattern.count, budget.kv_bytes - sum(sizes[name] * held for name, held in pattern.sequences))
            for pattern in planned.patterns
        ]
        committed = sum(
            pattern.count * held * contexts[name] for pattern in planned.patterns for name, held in pattern.sequences
        )
        spare = sum(count * int(size // per_token) for count, size in free) if per_token else 0
        spare_bytes = int(spare * per_token)
        remainder = sum(count * size for count, size in free) - spare_bytes
        values: tuple[Cell, ...] = (
            deployment.id,
            number,
            formula("SUMPRODUCT({counts},{each})", committed, counts=counts, each=span(POOLS, "tokens", ways)),
            formula("SUMPRODUCT({counts},{each})", spare, counts=counts, each=span(POOLS, "spare", ways)),
            formula(
                "{pools}*{each}",
                planned.pools * budget.reserve_bytes,
                pools=pools,
                each=at(POOL_BUDGETS, "reserve", number),
            ),
            formula(
                "{pools}*{each}",
                planned.pools * budget.weight_bytes,
                pools=pools,
                each=at(POOL_BUDGETS, "weights", number),
            ),
            formula("INT(ROUND({spare}*{token},6))", spare_bytes, token=at(POOL_BUDGETS, "token", number)),
            formula(
                "SUMPRODUCT({counts},{each})-{spare_bytes}", remainder, counts=counts, each=span(POOLS, "free", ways)
            ),
        )
        yield Row(values, key=number)


def _held_by(planned: PlannedDeployment) -> set[str]:
    return {name for pattern in planned.patterns for name, _ in pattern.sequences}


def _pools(reported: Reported) -> Iterator[Row]:
    contexts = {name: service.context for name, (_, service) in reported.classes.items()}
    for number, planned in reported.deployments:
        deployment = planned.deployment
        for way, pattern in enumerate(planned.patterns, start=1):
            held = [(number, way, name) for name, _ in pattern.sequences]
            committed = sum(deployment.sequence_bytes(contexts[name]) * count for name, count in pattern.sequences)
            tokens = sum(contexts[name] * count for name, count in pattern.sequences)
            free, per_token = deployment.budget.kv_bytes - committed, deployment.bytes_per_token
            yield Row(
                (
                    deployment.id,
                    number,
                    way,
                    Input(pattern.count, Accepts.COUNT, decision=True),
                    formula("{each}", deployment.budget.kv_bytes, each=at(POOL_BUDGETS, "budget", number)),
                    formula("SUM({each})", committed, each=span(HELD, "bytes", held)) if held else 0,
                    formula("{budget}-{committed}", free),
                    formula("SUM({each})", tokens, each=span(HELD, "tokens", held)) if held else 0,
                    formula(
                        "IF({token}>0,MAX(0,INT({free}/{token})),0)",
                        int(free // per_token) if per_token else 0,
                        token=at(POOL_BUDGETS, "token", number),
                    ),
                    check('IF({free}>=0,"ok","does not fit")', "ok"),
                ),
                key=(number, way),
            )


def _held(reported: Reported) -> Iterator[Row]:
    for number, planned in reported.deployments:
        deployment = planned.deployment
        for way, pattern in enumerate(planned.patterns, start=1):
            for name, count in pattern.sequences:
                context = reported.classes[name][1].context
                size = deployment.sequence_bytes(context)
                pools = at(POOLS, "count", (number, way))
                yield Row(
                    (
                        deployment.id,
                        number,
                        way,
                        Input(count, Accepts.COUNT, decision=True),
                        formula("{each}", size, each=at(SEQUENCES, "bytes", (number, name))),
                        formula("{held}*{size}", count * size),
                        formula("{held}*{context}", count * context, context=assumed("class", name, "context")),
                        formula("{held}*{pools}", count * pattern.count, pools=pools),
                        formula("{tokens}*{pools}", count * context * pattern.count, pools=pools),
                        name,
                    ),
                    key=(number, way, name),
                )
