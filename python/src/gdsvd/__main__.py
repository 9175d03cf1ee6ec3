"""The program itself, as a command: gdsvd, or python -m gdsvd."""

import os
import subprocess
import sys

from ._program import program


def main() -> int:
    """Run the program of the wheel with the arguments of this process."""
    args = [program(), *sys.argv[1:]]
    os.environ["GDSVD_PYTHON"] = sys.executable  # for engines
    if os.name == "posix":
        os.execv(args[0], args)
    return subprocess.call(args)


if __name__ == "__main__":
    sys.exit(main())
