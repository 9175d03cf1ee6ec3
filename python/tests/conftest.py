"""Setup of all tests."""

import signal

# A script that runs the tests in the background makes them, and the processes they start, ignore SIGINT. Some tests need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
