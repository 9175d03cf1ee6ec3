"""The command `python -m gdsvd arrow`: it converts an Arrow stream or file on standard input to text that the gdsvd program reads."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ._tables import lines

ABOUT = """Write the entries of a table of Arrow, a stream or a file on standard input, as text: python -m gdsvd arrow <FILE | gdsvd ingest - -o STORE.
Its two or three columns are row, column and value, unless they are named."""


def main(args: list[str]) -> int:
    """Write the table on standard input as text, and return the exit code."""
    parser = argparse.ArgumentParser("python -m gdsvd arrow", description=ABOUT)
    for role in ("row", "col", "value"):
        parser.add_argument(f"--{role}", metavar="NAME", help=f"column with the {role}")
    said, out = parser.parse_args(args), sys.stdout.buffer
    out.write(b"row,column,value\n")
    try:
        import pyarrow

        source: Any = sys.stdin.buffer
        if source.peek(8)[:6] == b"ARROW1":
            source.read(8)  # the magic number and its padding: the rest of the file begins with a stream
        reader = pyarrow.ipc.open_stream(source)
        roles = said.row, said.col, said.value
        if roles == (None, None, None):
            if len(reader.schema.names) not in (2, 3):
                raise ValueError(f"columns {', '.join(reader.schema.names)}: name two or three of them with --row, --col and --value")
            roles = (*reader.schema.names, None)[:3]
        out.writelines(lines(reader, roles))
        out.flush()
    except BrokenPipeError:  # the reader has ended, and reports the reason itself
        sys.stderr.close()
        return 1
    except Exception as err:  # after any error the invalid line below must be written
        print(f"gdsvd arrow: {err}", file=sys.stderr)
        out.write(b'"the stream of Arrow ended with an error\n')  # the program refuses this line, and so does not ingest a truncated table
        return 1
    return 0
