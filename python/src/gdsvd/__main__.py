"""The commands gdsvd and python -m gdsvd run the program of the wheel; python -m gdsvd arrow converts Arrow to text that the program reads."""

import os
import subprocess
import sys

from ._program import program


def main() -> int:
    """Run the program of the wheel with the arguments of this process."""
    if sys.argv[1:2] == ["arrow"]:
        from . import _arrow  # not at the top: importing it takes longer than many a command runs

        return _arrow.main(sys.argv[2:])
    args = [program(), *sys.argv[1:]]
    os.environ["GDSVD_PYTHON"] = sys.executable  # the Python in which the program starts gdsvd.engines
    if os.name == "posix":
        os.execv(args[0], args)
    return subprocess.call(args)


if __name__ == "__main__":
    sys.exit(main())
