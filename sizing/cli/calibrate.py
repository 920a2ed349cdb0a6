"""`sizing calibrate`: start-up logs of engines against what a profile predicts for them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizing.cli.options import OptionReader
from sizing.units.amounts import gib
from sizing.units.errors import BadInput, Problem, shown
from sizing.units.quantities import parse_count

if TYPE_CHECKING:
    from sizing.advice.calibrate import Setting
    from sizing.intake.logs import EngineLog
    from sizing.plan.calibration import Calibration
    from sizing.pool.engines.profile import Engine
    from sizing.sequence.model import ModelShape


WEIGHTS_OF_LOG = {  # what engines call a format, where the checkpoint's own is not of that name
    "fp8": "int8",  # linear layers in 8 bits, the rest as it is
    "compressed-tensors": "int8",
    "awq": "int4",
    "awq_marlin": "int4",
    "gptq": "int4",
    "gptq_marlin": "int4",
    "bitsandbytes": "int4",
    "modelopt": "fp8",
    "modelopt_fp4": "nvfp4",
    "mxfp4": "mxfp4",
}
HUB_CACHE = re.compile(r"models--([^/]+?)--([^/]+)")
SAME_GPU = 0.05  # of its memory, which an engine sees less the driver's part
KV_OF_LOG = {"fp8": "fp8", "float8": "fp8", "nvfp4": "nvfp4", "int8": "int8", "int4": "int4"}


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--model", metavar="M", help="The model, where the log names none that the catalog knows; another is refused."
)
@click.option("--system", metavar="S", help="The system that it ran on: what its GPUs have, and for which -o writes.")
@click.option("--engine", metavar="E", help="The profile; by default that of the version in the log.")
@click.option("--tp", metavar="N", help="Tensor parallel size, where the log does not print it; another is refused.")
@click.option("--weights", metavar="W", help="Precision of the weights; by default as the log or the checkpoint says.")
@click.option("--kv-precision", metavar="P", help="Precision of the cache; by default as the log says.")
@click.option(
    "--catalog",
    "folders",
    metavar="DIR",
    multiple=True,
    help="Entries that add to the shipped ones, or change them by name. May be repeated.",
)
@click.option("--json", "json_target", metavar="-", type=click.Choice(["-"]), help="Print one JSON document.")
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write what was measured as a folder of catalogs, for --catalog.",
)
@click.option("--force", is_flag=True, help="Overwrite files in that folder.")
def calibrate(logs: tuple[Path, ...], json_target: str | None, out: Path | None, force: bool, **options: Any) -> int:
    """Compare start-up logs of engines with profiles.

    LOG is a whole log of one start of vLLM, SGLang or TensorRT-LLM, or its lines on memory. Weights, bytes of a token,
    memory outside the cache and tokens are compared, each difference with its reason. Of several logs those that can be
    read are shown; the others are named on stderr, and the exit code is 2.
    """
    found, refused = _Question(**options).answers(logs)
    if out is not None:
        from sizing.report.overlay import write_overlay

        write_overlay(out, found, force)
    if json_target:
        import json

        from sizing.report.calibrate import calibration_document

        click.echo(json.dumps([calibration_document(each) for each in found], indent=2, ensure_ascii=False))
    else:
        from sizing.report.calibrate import calibration_report

        click.echo(calibration_report(found, out), nl=False)
    if refused is not None:
        click.echo(str(refused), err=True)
        return refused.exit_code
    return 0


class _Question(OptionReader):
    """The options as they were typed; what is wrong with them or with a log is collected and told all at once."""

    def __init__(
        self,
        model: str | None,
        system: str | None,
        engine: str | None,
        tp: str | None,
        weights: str | None,
        kv_precision: str | None,
        folders: Sequence[str],
    ) -> None:
        from sizing.catalog.catalog import Catalog
        from sizing.sequence.weights import FORMATS

        super().__init__()
        self._catalog = Catalog([Path(folder) for folder in folders])
        self._model = None if model is None else self._read_model(model)
        self._system = None if system is None else self._named("--system", self._catalog.system, system)
        self._engine = None if engine is None else self._named("--engine", self._catalog.engine, engine)
        self._tp = None if tp is None else self._positive("--tp", tp, parse_count)
        self._weights = None if weights is None else self._choice("--weights", weights, FORMATS)
        self._precision = (
            None if kv_precision is None else self._named("--kv-precision", self._catalog.kv_precision, kv_precision)
        )

    def answers(self, files: Sequence[Path]) -> "tuple[list[Calibration], BadInput | None]":
        """One comparison a log, and what is wrong with logs that have none: one refused hides no other.

        Raises BadInput with everything where the options are wrong, or no log has an answer.
        """
        from sizing.advice.calibrate import calibrate as compare
        from sizing.intake.logs import read_log

        found = []
        of_options = bool(self._problems)
        for file in files:
            try:
                log = read_log(file)
                engine = self._engine or self._profile(log)
                setting = self._setting(log, engine)
            except BadInput as wrong:
                self._problems += wrong.problems
                continue
            if not of_options:
                found.append(compare(log, setting, engine))
        refused = BadInput(*dict.fromkeys(self._problems)) if self._problems else None
        if refused is not None and not found:
            raise refused
        return found, refused

    def _profile(self, log: "EngineLog") -> "Engine":
        from sizing.catalog.engines import profile_of

        return self._catalog.engine(profile_of(self._catalog, log.engine, log.version, log.generation))

    def _setting(self, log: "EngineLog", engine: "Engine") -> "Setting":
        from sizing.advice.calibrate import Setting, start_of
        from sizing.catalog.engines import is_for
        from sizing.pool.layout import layout_for
        from sizing.sequence.weights import FORMATS

        taken = []
        if log.version is None and self._engine is None:
            taken.append("the log names no version: the newest profile is taken")
        if log.version is not None and not is_for(self._catalog, engine.name, log.version):
            taken.append(f"the profile {engine.name} was not made for version {log.version}")
        model = self._model_as_said(log)
        if (log.pp or 1) > 1:
            what = f"pipeline parallel size {log.pp}: stages differ, and no layout here has any"
            raise BadInput(Problem(what, file=log.file, accepted="a log of pipeline parallel size 1"))
        if self._tp is not None and log.tp is not None and self._tp != log.tp:
            what = f"--tp {self._tp} contradicts the log, which says tensor parallel size {log.tp}"
            raise BadInput(Problem(what, file=log.file, accepted="--tp only where the log prints none"))
        tp = self._tp or log.tp
        if tp is None:
            tp = 1
            taken.append("the log prints no tensor parallel size: taken as 1")
        layout = layout_for(model, tp, log.dp or 1, log.dcp or 1)
        refused = model.refusal(layout.sharding)
        if refused:
            raise BadInput(Problem(f"{model.name}: {refused}", file=log.file, seen=str(layout)))
        weights = self._weights
        if weights is None:
            name = model.native_weights if log.weights is None else WEIGHTS_OF_LOG.get(log.weights, "")
            if log.weights is not None and (not name or model.native_weights.startswith(log.weights)):
                name = model.native_weights
            weights = FORMATS[name]
            taken.append(f"weights are counted in {name}")
        hbm_bytes = engine.hbm_bytes(log.total_bytes, log.free_bytes)
        vendor = "NVIDIA"
        if self._system is not None:
            gpu = self._system.gpu
            vendor, figure = gpu.vendor, gpu.hbm_driver_bytes
            if hbm_bytes is not None and figure is not None and abs(hbm_bytes / figure.value - 1) > SAME_GPU:
                seen = f"{gib(hbm_bytes)} a GPU by the log, {gib(figure.value)} by drivers of {gpu.name}"
                what = f"--system {self._system.name} contradicts the log"
                raise BadInput(Problem(what, file=log.file, seen=seen, accepted="the system that it was started on"))
            if hbm_bytes is None and figure is not None:
                hbm_bytes = figure.value
                taken.append(f"a GPU has {figure.value:,} bytes, as drivers report of {gpu.name}")
        return Setting(
            model=model,
            weights=weights,
            kv_precision=self._precision or self._precision_of(log),
            layout=layout,
            hbm_bytes=hbm_bytes,
            vendor=vendor,
            start=start_of(log),
            system=None if self._system is None else self._system.name,
            gpu=None if self._system is None else self._system.gpu.name,
            taken=tuple(taken),
        )

    def _precision_of(self, log: "EngineLog") -> Any:
        said = log.kv_precision or ""
        name = next((name for start, name in KV_OF_LOG.items() if said.startswith(start)), "bf16")
        return self._catalog.kv_precision(name)

    def _model_as_said(self, log: "EngineLog") -> "ModelShape":
        """The model of `--model`, which must not be another one than the log names; else that of the log."""
        if self._model is None:
            return self._model_of(log)
        try:
            named = self._model_of(log)
        except BadInput:  # the log names none, or none that is known
            return self._model
        if _shape(named) != _shape(self._model):
            what = f"--model {self._model.name} contradicts the log, which names {named.name}"
            accepted = "--model only where the log names none that the catalog knows"
            raise BadInput(Problem(what, file=log.file, seen=shown(log.model), accepted=accepted))
        return self._model

    def _model_of(self, log: "EngineLog") -> "ModelShape":
        """The model that the log names: by catalog name, Hugging Face id, or a path that ends in one or its last part.

        A folder of the Hugging Face cache is `models--ORGANISATION--NAME/snapshots/REVISION`.
        """
        if log.model is None:
            raise BadInput(Problem("names no model", file=log.file, accepted="--model"))
        cached = HUB_CACHE.search(log.model)
        name = log.model if cached is None else "/".join(cached.groups())
        try:
            return self._catalog.model(name)
        except BadInput as wrong:
            problem = wrong.problems[0]
        last = _last(name)
        models = (self._catalog.model(known) for known in self._catalog.names("models"))
        found = [model for model in models if last in map(_last, (model.name, *model.aliases))]
        if len(found) == 1:
            return found[0]
        accepted = ", ".join(f"--model {model.name}" for model in found)
        raise BadInput(
            Problem(
                "its model is several of the catalog" if found else "its model is not in the catalog",
                file=log.file,
                seen=shown(log.model),
                accepted=accepted or "--model with a catalog name or a config.json",
                nearest=None if found else problem.nearest,
            )
        )

    def _read_model(self, name: str) -> "ModelShape | None":
        if name.endswith(".json"):
            from sizing.intake.huggingface import import_config

            return self._named("--model", lambda path: import_config(Path(path)).shape, name)
        return self._named("--model", self._catalog.model, name)


def _shape(model: "ModelShape") -> tuple[object, ...]:
    """What models have in common that differ in name or training alone."""
    return model.hidden, model.vocabulary, model.blocks


def _last(name: str) -> str:
    """The last part of a path or a Hugging Face id, in small letters."""
    return name.rstrip("/").rpartition("/")[2].casefold()
