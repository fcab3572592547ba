"""Rules that choose the next query, each behind the protocol of a solver: only the choice differs from a proposal."""

from hentropy.baselines.paper_one_shot import PaperOneShot

__all__ = ["PaperOneShot"]
