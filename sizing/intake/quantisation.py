"""How a checkpoint stores its weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from sizing.intake.configuration import Configuration
from sizing.intake.parts import Parts
from sizing.sequence.model import RoleBits


@dataclass(frozen=True)
class Checkpoint:
    weights: str
    bits: RoleBits = ()
    kv_precision: str | None = None

    def layer_bits(self, index: int) -> RoleBits:
        return ()


def read_checkpoint(
    root: Configuration, config: Configuration, parts: Parts, beside: Mapping[str, Any] | None
) -> Checkpoint:
    return Checkpoint("bf16")
