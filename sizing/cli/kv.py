"""`sizing kv`: the cache of one model, what one system holds of it, and how both are computed."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from sizing.cli.completion import choices, entries, models_or_files
from sizing.cli.completion import folders as complete_folders
from sizing.cli.options import OptionReader
from sizing.facility.estimate import Home, KvEstimate, Load, default_contexts, estimate, layout_refusal, legal_tps
from sizing.intake.paths import is_file, is_path, path_of
from sizing.pool.budget import RESERVE
from sizing.pool.engines.ideal import IDEAL, IdealEngine
from sizing.pool.engines.measured import Measurement
from sizing.pool.engines.profile import Engine
from sizing.pool.gpu import HbmBasis
from sizing.pool.layout import Layout, layout_for
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS
from sizing.units.errors import BadInput, Problem, shown
from sizing.units.quantities import below_all, parse_count, parse_share, parse_tokens

CONCURRENCIES = (1, 8, 32, 128)
HBM_BASES: dict[str, HbmBasis] = {"label": "label", "driver": "driver"}


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, shell_complete=models_or_files)
@click.option(
    "--system", metavar="S", shell_complete=entries("systems"), help="Count what one replica holds on this system."
)
@click.option("--tp", metavar="N", help="GPUs that hold a sequence together.")
@click.option("--dcp", metavar="N", help="Decode context parallel: splits tokens inside the TP group.")
@click.option("--attention-dp", metavar="N", help="Pools of a replica, each with whole sequences.")
@click.option("--context", "contexts", metavar="L", multiple=True, help="Tokens of one sequence. May be repeated.")
@click.option("--concurrency", "concurrencies", metavar="N", multiple=True, help="Sequences at once. May be repeated.")
@click.option(
    "--kv-precision",
    metavar="P",
    default="bf16",
    show_default=True,
    shell_complete=entries("precisions"),
    help="Precision of the cache.",
)
@click.option(
    "--weights",
    metavar="W",
    shell_complete=choices(FORMATS),
    help="Precision of the weights; by default the checkpoint's own.",
)
@click.option(
    "--engine",
    metavar="E",
    default="ideal",
    show_default=True,
    shell_complete=entries("engines"),
    help="How the cache is stored.",
)
@click.option(
    "--hbm",
    metavar="label|driver",
    shell_complete=choices(HBM_BASES),
    help="HBM by the vendor's label (default) or as drivers report it.",
)
@click.option("--reserve", metavar="R", help="Share of HBM that is kept free; 10 % by default.")
@click.option(
    "--catalog",
    "folders",
    metavar="DIR",
    multiple=True,
    is_eager=True,  # read before names, so that completion knows them
    shell_complete=complete_folders,
    help="Entries that add to the shipped ones, or change them by name. May be repeated.",
)
@click.option("--json", "json_target", metavar="-", type=click.Choice(["-"]), help="Print one JSON document.")
def kv(models: tuple[str, ...], **options: Any) -> int:
    """Show what a model's cache costs and what a system holds of it.

    MODEL is a name of `sizing catalog models`, the model's Hugging Face id, or a path to its config.json. Without a
    layout option the layout that holds most tokens per GPU is chosen. What does not fit is an answer, not an error.
    Of several models those that can be read are shown; the others are named on stderr, and the exit code is 2.
    """
    json_target = options.pop("json_target")
    question = _Question(**options)
    found, refused = question.answers(models)
    if json_target:
        import json

        from sizing.report.kv_document import kv_document

        click.echo(json.dumps([kv_document(each) for each in found], indent=2, ensure_ascii=False))
    else:
        from sizing.report.kv import kv_report

        click.echo(kv_report(found), nl=False)
    if refused is not None:
        click.echo(str(refused), err=True)
        return refused.exit_code
    return 0


def _reserve(text: str) -> Fraction:
    return below_all(parse_share(text))


class _Question(OptionReader):
    """The options as they were typed, read one by one; what is wrong is collected and told all at once."""

    def __init__(
        self,
        system: str | None,
        tp: str | None,
        dcp: str | None,
        attention_dp: str | None,
        contexts: Sequence[str],
        concurrencies: Sequence[str],
        kv_precision: str,
        weights: str | None,
        engine: str,
        hbm: str | None,
        reserve: str | None,
        folders: Sequence[str],
    ) -> None:
        from sizing.catalog.catalog import Catalog  # with it come pydantic and YAML, which `--help` need not wait for

        super().__init__()
        self._catalog = Catalog([Path(folder) for folder in folders])
        self._contexts = self._all("--context", contexts, parse_tokens)
        self._concurrencies = self._all("--concurrency", concurrencies, parse_count) or CONCURRENCIES
        self._sizes = {
            option: self._positive(option, text, parse_count)
            for option, text in (("--tp", tp), ("--attention-dp", attention_dp), ("--dcp", dcp))
            if text is not None
        }
        self._precision = self._named("--kv-precision", self._catalog.kv_precision, kv_precision)
        self._weights = None if weights is None else self._choice("--weights", weights, FORMATS)
        if system is None:
            for option, text in (("--hbm", hbm), ("--reserve", reserve)):
                if text is not None:
                    self._problems.append(Problem("says nothing without --system", option, seen=shown(text)))
            reserve = None
        self._engine = self._read_engine(engine, reserve)
        self._home = None if system is None else self._read_home(system, hbm)

    def answers(self, names: Sequence[str]) -> tuple[list[KvEstimate], BadInput | None]:
        """One estimate a model, and what is wrong with models that have none: one refused hides no other.

        Raises BadInput with everything where the options are wrong, or no model has an answer.
        """
        of_options = len(self._problems)
        models = [self._read_model(name) for name in names]
        found = [] if of_options else [self._answer(model) for model in models if model is not None]
        answered = [each for each in found if each is not None]
        refused = BadInput(*self._problems) if self._problems else None
        if refused is not None and not answered:
            raise refused
        return answered, refused

    def _answer(self, model: ModelShape) -> KvEstimate | None:
        weights = self._weights or FORMATS[model.native_weights]
        layout = self._layout(model)
        if weights is None or self._precision is None or self._engine is None:
            return None
        if layout is None and self._sizes:
            return None
        contexts = self._contexts or default_contexts(model.context_limit)
        load = Load(model, weights, self._precision, self._engine, contexts, self._concurrencies, self._measurements())
        return estimate(load, self._home, layout)

    def _measurements(self) -> tuple[Measurement, ...]:
        """What the user's folders hold of engine logs; the shipped catalogs hold none, and need not be read for it."""
        if not self._catalog.overlaid("engines"):
            return ()
        from sizing.catalog.engines import measurements

        return measurements(self._catalog)

    def _layout(self, model: ModelShape) -> Layout | None:
        """The layout that the options state; None where they leave it to the tool."""
        if not self._sizes:
            return None
        tp, attention_dp, dcp = (self._sizes.get(option) or 1 for option in ("--tp", "--attention-dp", "--dcp"))
        layout = layout_for(model, tp, attention_dp, dcp)
        domain_gpus = self._home.system.domain_gpus if self._home else None
        why = layout_refusal(model, layout, domain_gpus)
        if why is None:
            return layout
        legal = legal_tps(model, domain_gpus)
        accepted = None if tp in legal or not legal else f"TP {', '.join(map(str, legal))}"
        where = ", ".join(self._sizes)
        self._problems.append(Problem(f"{model.name}: {why}", where, seen=str(layout), accepted=accepted))
        return None

    def _read_model(self, name: str) -> ModelShape | None:
        if not is_path(name) and not is_file(Path(name)):
            return self._named("MODEL", self._catalog.model, name)
        from sizing.intake.huggingface import import_config  # not for a model of the catalog, which is instant

        try:
            return import_config(path_of(name)).shape
        except BadInput as wrong:
            self._problems += wrong.problems
            return None

    def _read_engine(self, name: str, reserve: str | None) -> Engine | None:
        """The profile, which replaces the reserve (decision 2); `ideal` takes it."""
        share = RESERVE if reserve is None else self._read("--reserve", reserve, _reserve)
        if name == IDEAL:
            return None if share is None else IdealEngine(share)
        if reserve is not None:
            what = f"the engine profile {name} replaces the reserve (decision 2)"
            self._problems.append(Problem(what, "--reserve", seen=shown(reserve), accepted="either of the two"))
        return self._named("--engine", self._catalog.engine, name)

    def _read_home(self, system: str, hbm: str | None) -> Home | None:
        basis = self._choice("--hbm", hbm or "label", HBM_BASES)
        bought = self._named("--system", self._catalog.system, system)
        if bought is None or basis is None:
            return None
        hbm_bytes = bought.gpu.hbm_bytes(basis)
        if hbm_bytes is None:
            what = f"what drivers report for {bought.gpu.name} is not known"
            self._problems.append(Problem(what, "--hbm", seen=shown(hbm), accepted="label"))
            return None
        return Home(bought, basis, hbm_bytes)

    def _all(self, option: str, texts: Iterable[str], parse: Callable[[str], int]) -> tuple[int, ...]:
        """Every value of an option that may be repeated, each once, in order."""
        values = [self._positive(option, text, parse) for text in texts]
        return tuple(dict.fromkeys(value for value in values if value is not None))
