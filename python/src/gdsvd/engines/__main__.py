"""``python -m gdsvd.engines NAME ENGINE PROGRAM`` runs main of gdsvd.engines.NAME, a module that workers can import, unlike __main__."""

import importlib
import sys

from .bridge import bridged

if not bridged(sys.argv[2]):
    importlib.import_module(f"gdsvd.engines.{sys.argv[1]}").main(*sys.argv[2:])
