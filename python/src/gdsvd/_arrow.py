"""What `python -m gdsvd arrow` does: a stream or a file of Arrow from standard input becomes text that the program reads."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ._tables import lines

ABOUT = """Write the entries of a table of Arrow, a stream or a file on standard input, as text: python -m gdsvd arrow <FILE | gdsvd ingest - -o STORE.
Its two or three columns are row, column and value, unless they are named."""


def main(args: list[str]) -> int:
    """Write standard input as text; the exit code."""
    parser = argparse.ArgumentParser("python -m gdsvd arrow", description=ABOUT)
    for role in ("row", "col", "value"):
        parser.add_argument(f"--{role}", metavar="NAME", help=f"column with the {role}")
    said, out = parser.parse_args(args), sys.stdout.buffer
    out.write(b"row,column,value\n")
    try:
        import pyarrow

        source: Any = sys.stdin.buffer
        if source.peek(8)[:6] == b"ARROW1":
            source.read(8)  # what follows in a file is a stream
        reader = pyarrow.ipc.open_stream(source)
        roles = said.row, said.col, said.value
        if roles == (None, None, None):
            if len(reader.schema.names) not in (2, 3):
                raise ValueError(f"columns {', '.join(reader.schema.names)}: name two or three of them with --row, --col and --value")
            roles = (*reader.schema.names, None)[:3]
        out.writelines(lines(reader, roles))
        out.flush()
    except BrokenPipeError:  # the program says why it has gone
        sys.stderr.close()
        return 1
    except Exception as err:  # whatever it is, what follows has to be written
        print(f"gdsvd arrow: {err}", file=sys.stderr)
        out.write(b'"the stream of Arrow ended with an error\n')  # a line that is refused: nothing takes this for the end
        return 1
    return 0
