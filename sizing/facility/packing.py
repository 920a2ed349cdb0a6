"""Replicas into domains, exactly on the ladder.

Sizes are powers of two below d, and d itself. Each divides the next but the last, so first fit decreasing wastes
nothing (Coffman, Garey, Johnson 1987, "Bin packing with divisible item sizes"): replicas fit into the domains if and
only if for every power of two g <= d the pieces of size g that they take are no more than the domains offer.
"""


def pieces(replica_gpus: int, piece_gpus: int, domain_gpus: int) -> int:
    """Pieces of `piece_gpus` (a power of two) that one replica takes of a domain; 0 for a smaller replica."""
    if replica_gpus < piece_gpus:
        return 0
    if replica_gpus == domain_gpus:
        return domain_gpus // piece_gpus
    return replica_gpus // piece_gpus


def piece_sizes(domain_gpus: int) -> tuple[int, ...]:
    """The powers of two up to `domain_gpus`, ascending: one packing row each."""
    return tuple(2**exponent for exponent in range(domain_gpus.bit_length()))


def pieces_in_domain(piece_gpus: int, domain_gpus: int) -> int:
    """Pieces of `piece_gpus` that one domain offers."""
    return domain_gpus // piece_gpus
