"""Trasgo: local differential privacy releases of tabular microdata, with a certificate for every channel.

The library is pure: no orchestrator, no terminal, no clock and no randomness except what is passed in. Rooms and their
order are in ``pyproject.toml`` (import-linter); what each promises is in its own docstring.
"""

__version__ = "0.1.0"
FORMAT = 1
"""Version of every stored format; readers refuse a higher one."""

__all__ = ["FORMAT", "__version__"]
