"""How the GPUs of one pool share a sequence: tensor parallel over heads, decode context parallel over tokens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sharding:
    """`tp` GPUs hold the sequence together; `dcp` divides `tp` and splits the tokens inside the group."""

    tp: int = 1
    dcp: int = 1


WHOLE = Sharding()
