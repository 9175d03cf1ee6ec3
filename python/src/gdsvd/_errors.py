"""The exceptions of the package. The message of each is the one line that the gdsvd program prints for the error."""

from __future__ import annotations

from typing import Any


class GdsvdError(Exception):
    """Base of all errors of the program (exit code 1: something failed, such as a file that cannot be read)."""


class UsageError(GdsvdError, ValueError):
    """Wrong usage: a parameter out of range, or an input that can be read in several ways (exit code 2)."""


class CorruptError(GdsvdError):
    """A store, a result or a checkpoint is damaged (exit code 3)."""


class MissingError(GdsvdError, FileNotFoundError):
    """A file that is to be read, or the folder to write to, does not exist (exit code 1)."""


class ExistsError(GdsvdError, FileExistsError):
    """The output exists already, and the call does not allow replacing it (exit code 1)."""


class ConvergenceWarning(UserWarning):
    """A result did not reach its tolerance; it is used nevertheless."""


class NotConverged(GdsvdError):
    """The run ended before all triplets were within the tolerance (exit code 4).

    Attributes
    ----------
    u, s, vt : ndarray or None
        The triplets at the end of the run, as `svds` would have returned them; None if there is a `factorization`.
    info : dict
        Contents of ``result.json``; ``residual`` has the residual of each triplet.
    factorization : Factorization or None
        The result at the end of the run, if the caller named a folder for it.
    """

    factorization: Any = None
    u: Any = None
    s: Any = None
    vt: Any = None
    info: dict[str, Any] = {}


class VersionError(GdsvdError):
    """The gdsvd program is missing, does not run, or is not the one that the package was built with."""


KINDS: dict[int, type[GdsvdError]] = {2: UsageError, 3: CorruptError, 4: NotConverged}
