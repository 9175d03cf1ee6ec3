"""The program itself, as a command: gdsvd, or python -m gdsvd; and python -m gdsvd arrow, which writes Arrow as text for it."""

import os
import subprocess
import sys

from . import _arrow
from ._program import program


def main() -> int:
    """Run the program of the wheel with the arguments of this process."""
    if sys.argv[1:2] == ["arrow"]:
        return _arrow.main(sys.argv[2:])
    args = [program(), *sys.argv[1:]]
    os.environ["GDSVD_PYTHON"] = sys.executable  # for engines
    if os.name == "posix":
        os.execv(args[0], args)
    return subprocess.call(args)


if __name__ == "__main__":
    sys.exit(main())
