"""A KV estimate as JSON: the contract `sizing.kv/1`."""

from typing import Any

from sizing.facility.estimate import Holding, KvEstimate
from sizing.pool.engines.ideal import IdealEngine
from sizing.report.kv_notes import notes
from sizing.units.amounts import number

SCHEMA = "sizing.kv/1"


def kv_document(found: KvEstimate) -> dict[str, Any]:
    """One entry of the list that `sizing kv --json -` prints; what depends on a system is there only with one."""
    load, layout, home = found.load, found.layout, found.home
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "model": load.model.name,
        "parameters": found.exact.parameters,
        "active_parameters": load.model.active_parameters,
        "layers": [{"kind": kind.name, "count": count} for kind, count in found.layers],
        "engine": load.engine.name,
        "kv_precision": load.kv_precision.name,
        "layout": {"tp": layout.tp, "dcp": layout.dcp, "attention_dp": layout.attention_dp, "ep": layout.ep},
        "layout_chosen": found.layout_chosen,
        "bytes_per_token": number(found.bytes_per_token),
        "constant_bytes": found.constant_bytes,
        "window_bytes": found.window_bytes,
        "weights": load.weights.name,
        "intensity_flop_per_byte": None if found.intensity is None else number(found.intensity),
        **_holding(found.exact),
    }
    if home is not None:
        document |= {
            "system": home.system.name,
            "hbm": home.basis,
            "hbm_bytes": found.exact.hbm_bytes,
            "reserve": number(load.engine.reserve) if isinstance(load.engine, IdealEngine) else None,
            "reserve_bytes": found.exact.reserve_bytes,
            "ridge_flop_per_byte": None if found.ridge is None else number(found.ridge),
        }
    document["ideal"] = None if found.ideal is None else _ideal(found.ideal)
    document["nominal"] = found.nominal and {"parameters": found.nominal.parameters, **_holding(found.nominal)}
    document["notes"] = list(notes(found))
    return document


def _ideal(found: KvEstimate) -> dict[str, Any]:
    """What the arithmetic itself gives in the same layout, beside an engine profile."""
    return {
        "bytes_per_token": number(found.bytes_per_token),
        "constant_bytes": found.constant_bytes,
        "window_bytes": found.window_bytes,
        **_holding(found.exact),
    }


def _holding(held: Holding) -> dict[str, Any]:
    """What follows from the size of the weights: the same keys for the exact and for the nominal parameter count."""
    document: dict[str, Any] = {
        "weight_bytes": held.weight_bytes,
        "crossover_tokens": held.crossover_tokens,
        "sequences": [{"context": cost.context, "bytes": cost.bytes, "fits": cost.fits} for cost in held.sequences],
        "cells": [
            {"context": cell.context, "concurrency": cell.concurrency, "bytes": cell.bytes, "fits": cell.fits}
            for cell in held.cells
        ],
    }
    if held.budget is not None:
        document |= {
            "weights_fit": held.weights_fit,
            "weight_bytes_on_replica": held.weight_bytes_on_replica,
            "kv_budget_bytes": held.kv_budget_bytes,
            "kv_budget_bytes_per_pool": held.budget.kv_bytes,
            "kv_tokens": held.kv_tokens,
        }
    return document
