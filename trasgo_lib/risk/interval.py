"""Exact intervals of shares that were counted in a sample."""

from __future__ import annotations


def exact_interval(found: int, tried: int, level: float = 0.95) -> tuple[float, float]:
    """The interval of Clopper and Pearson 1934: covers the true share with at least ``level``, whatever it is.

    Args:
        found: how often something was so, 0 to ``tried``.
        tried: how often it was looked at, at least 1.
        level: confidence, 0 to 1.
    """
    # imported late: only an audit needs scipy
    from scipy.special import betaincinv

    tail = (1.0 - level) / 2
    low = 0.0 if found == 0 else float(betaincinv(found, tried - found + 1, tail))
    high = 1.0 if found == tried else float(betaincinv(found + 1, tried - found, 1.0 - tail))
    return low, high
