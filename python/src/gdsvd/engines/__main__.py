"""``python -m gdsvd.engines NAME ENGINE PROGRAM``: the main of the module NAME, which workers can import as what stands here they could not."""

import importlib
import sys

from .bridge import bridged

if not bridged(sys.argv[2]):
    importlib.import_module(f"gdsvd.engines.{sys.argv[1]}").main(*sys.argv[2:])
