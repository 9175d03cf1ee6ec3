"""The program itself, as a command: gdsvd, or python -m gdsvd; and python -m gdsvd arrow, which writes Arrow as text for it."""

import os
import subprocess
import sys

from ._program import program


def main() -> int:
    """Run the program of the wheel with the arguments of this process."""
    if sys.argv[1:2] == ["arrow"]:
        from . import _arrow  # NumPy takes longer than many a command

        return _arrow.main(sys.argv[2:])
    args = [program(), *sys.argv[1:]]
    os.environ["GDSVD_PYTHON"] = sys.executable  # for engines
    if os.name == "posix":
        os.execv(args[0], args)
    return subprocess.call(args)


if __name__ == "__main__":
    sys.exit(main())
