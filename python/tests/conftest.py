"""What holds for all tests."""

import signal

# Where the tests are run in the background of a script, interrupts are ignored, and so by whatever they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
