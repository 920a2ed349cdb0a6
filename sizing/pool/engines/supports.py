"""What an engine runs on: vendors of GPUs, precisions of the cache and of weights. What is not known is not checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sizing.pool.precision import KvPrecision

FULL = "bf16"


@dataclass(frozen=True, slots=True)
class Supports:
    """`vendors` and `kv_precisions` are all that the engine has, None where that is not known. `weights_unsupported`
    are generations of GPUs by format of weights that the engine's documentation leaves out; of other pairs nothing is
    known."""

    vendors: frozenset[str] | None = None
    kv_precisions: frozenset[str] | None = None
    weights_unsupported: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)

    def refusal(self, engine: str, vendor: str, generation: str, weights: str, kv: KvPrecision) -> str | None:
        """Why `engine` cannot run so on a GPU; None where nothing known speaks against it."""
        if self.vendors is not None and vendor not in self.vendors:
            return f"{engine} does not run on GPUs of {vendor}"
        if self.kv_precisions is not None and kv.name not in self.kv_precisions:
            return f"{engine} keeps no KV cache in {kv.name}"
        if generation in self.weights_unsupported.get(weights, ()):
            return f"{engine} does not run {weights} weights on {generation} GPUs"
        return None

    def unchecked(self, weights: str, kv: KvPrecision) -> tuple[str, ...]:
        """What nothing is known of; 16 bits run everywhere."""
        found = []
        if self.vendors is None:
            found.append("the vendor of the GPU")
        if self.kv_precisions is None and kv.name != FULL:
            found.append(f"a KV cache in {kv.name}")
        if weights != FULL and weights not in self.weights_unsupported:
            found.append(f"weights in {weights}")
        return tuple(found)


NOTHING_KNOWN = Supports()
