"""What can go wrong, as exceptions: each has the one line that the program says."""

from __future__ import annotations

from typing import Any


class GdsvdError(Exception):
    """Base of all errors of the program (exit code 1: something failed, such as a file that cannot be read)."""


class UsageError(GdsvdError, ValueError):
    """Wrong usage: a parameter out of range, or an input that can be read in several ways (exit code 2)."""


class CorruptError(GdsvdError):
    """A store, a result or a checkpoint is damaged (exit code 3)."""


class MissingError(GdsvdError, FileNotFoundError):
    """There is no such file, or no folder to write to (exit code 1)."""


class ExistsError(GdsvdError, FileExistsError):
    """What is to be written is there already, and nothing was said of replacing it (exit code 1)."""


class ConvergenceWarning(UserWarning):
    """A result did not reach its tolerance, and is used as it is."""


class NotConverged(GdsvdError):
    """The run ended before all triplets were within the tolerance (exit code 4).

    Attributes
    ----------
    u, s, vt : ndarray or None
        The triplets so far, as `svds` would have returned them; None where there is a `factorization`.
    info : dict
        ``result.json``: ``residual`` says how far each triplet is.
    factorization : Factorization or None
        The result so far, where the caller named a folder for it.
    """

    factorization: Any = None
    u: Any = None
    s: Any = None
    vt: Any = None
    info: dict[str, Any] = {}


class VersionError(GdsvdError):
    """The program is not the one that the package was built with."""


KINDS: dict[int, type[GdsvdError]] = {2: UsageError, 3: CorruptError, 4: NotConverged}
