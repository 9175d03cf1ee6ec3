"""Translation of error messages of the gdsvd program to Python: flags become keyword arguments, commands become methods, exit codes exceptions."""

from __future__ import annotations

import os
import re
from typing import Any

from ._errors import KINDS, ExistsError, GdsvdError, MissingError

ON = "biases|explain|exclude-seen|force|ignore-space|keep-order|no-ids|no-store|partial-ok|resume|spreadsheet-safe|whiten"  # flags without a value
RENAMED = {"rank": "k", "k": "k", "o": "path of the result", "out": "path of the result", "number": "n", "col": "cols", "row": "rows"}
COMMANDS = {
    "align": "Factorization.align",
    "append": "Store.append",
    "check": "Factorization.check",
    "complete": "Store.complete",
    "eigs": "Store.eigs",
    "eval": "Store.evaluate",
    "export": "Factorization.export",
    "info": "Store.info",
    "ingest": "Store.from_csv",
    "project": "Factorization.project",
    "query": "Factorization.query",
    "recommend": "Factorization.recommend",
    "report": "Factorization.report",
    "similar": "Factorization.similar",
    "stats": "Store.stats",
    "svd": "Store.svd",
    "topics": "Factorization.topics",
    "view": "Store.view",
}
# A word after a flag is taken as its value if it is a number, a placeholder in capitals, an assignment, or a known value of a flag.
VALUE = (
    r"(?:-?\d[^\s,;:()]*(?:\.\d+)?|[A-Z@][^\s,;:()]*|users:\S+|[a-z]+=\S+|true|false|"
    r"sum|mean|first|last|max|error|count|auto|yes|no|none|dilation|gram|symmetric|LM|LA|SA)"
)
FLAG = re.compile(rf"(?<![\w-])(?:--([a-z][a-z-]+)|-([kno]))(?![\w-])(?:[= ]({VALUE})(?=[\s,;:)]|$))?")


def translated(text: str) -> str:
    """Return an error message of the program with flags and commands replaced by their Python names. Quoted parts are not changed.

    Examples
    --------
    >>> translated("create a.csr: file already exists (--force replaces it)")
    'create a.csr: file already exists (force=True replaces it)'
    >>> translated('--tol 2: want a tolerance between 0 and 1 (see gdsvd svd -h)')
    'tol=2: want a tolerance between 0 and 1'
    >>> translated('invalid argument "x" for "--method" flag: choose auto or power')
    'method="x": choose auto or power'
    >>> translated("unknown flag: --foo (see gdsvd svd -h)")
    "there is no option foo; the options are those of 'python -m gdsvd svd --help'"
    >>> translated("unknown flag: --bloc; did you mean --block? (see gdsvd svd -h)")
    "there is no option bloc; did you mean block? the options are those of 'python -m gdsvd svd --help'"
    """
    unknown = re.fullmatch(r"unknown flag: --([\w-]+)(?:; did you mean --([\w-]+)\?)? \(see gdsvd (\w+) -h\)", text)
    if unknown:
        meant = f"; did you mean {_name(unknown[2])}?" if unknown[2] else ""
        return f"there is no option {unknown[1].replace('-', '_')}{meant or ';'} the options are those of 'python -m gdsvd {unknown[3]} --help'"
    text = re.sub(r" \(see gdsvd [\w ]+ -h\)$", "", text)
    text = re.sub(r'invalid argument ("(?:[^"\\]|\\.)*") for "(?:-\w, )?--([\w-]+)" flag', lambda m: f"{_name(m[2])}={m[1]}", text)
    text = re.sub(r"(?:cd \S+ && )?gdsvd [a-z]+ \S.* --resume(?= goes on)", "--resume", text)
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    parts[::2] = [_commands(FLAG.sub(_argument, part)) for part in parts[::2]]
    return "".join(parts)


def _name(flag: str) -> str:
    return RENAMED.get(flag, flag.replace("-", "_"))


def _argument(m: re.Match[str]) -> str:
    flag, value = m[1] or m[2], m[3]
    name = _name(flag)
    if re.fullmatch(ON, flag):
        return f"{name}={'False' if value == 'false' else 'True'}" + (f" {value}" if value not in (None, "true", "false") else "")
    if not value:
        return name
    if not re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?|[A-Z]+", value) or value in ("LM", "LA", "SA"):
        value = f'"{value}"'
    return f"{name}={value}" if name.isidentifier() else f"{name} {value}"


def _commands(text: str) -> str:
    """Replace commands by methods, and commands with flags by calls of ``python -m gdsvd``."""
    text = re.sub(r"\bgdsvd ([a-z]+)\b(?! -)", lambda m: COMMANDS.get(m[1], m[0]), text)
    return re.sub(r"(?<!-m )\bgdsvd (?=[a-z]+ -)", "python -m gdsvd ", text)


def failure(code: int, text: str, args: tuple[Any, ...]) -> GdsvdError:
    """Return the exception for a failed run, with the translated error message.

    Parameters
    ----------
    code : int
        The exit code.
    text : str
        The error message of the program.
    args : tuple
        Arguments of the command. Files after ``--`` are inputs, the file after ``-o`` is the output.
    """
    kind = KINDS.get(code, GdsvdError)
    if code in (1, 2):
        given = [os.fspath(a) for a in args]
        read = given[given.index("--") + 1 :] if "--" in given else []
        read += [name.partition("=")[2] for name in given if name.startswith(("--store=", "--to=", "--train=", "--test=", "--results="))]
        read += [name[1:] for name in given if name.startswith("@")]  # the file of a view
        written = [b for a, b in zip(given, given[1:]) if a == "-o"]
        if re.search(r"no such file|cannot find the (file|path)|does not exist", text) and any(_missing(name) for name in read + written):
            kind = MissingError
        elif "already exists" in text and any(os.path.lexists(name) for name in written):
            kind = ExistsError
    return kind(translated(text))


def _missing(name: str) -> bool:
    """Report whether a local path does not exist. URLs and ``-`` count as existing."""
    return "://" not in name and name != "-" and not os.path.exists(name)
