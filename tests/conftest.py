"""What all tests share."""

import signal

# A shell that starts a run in the background lets it ignore Ctrl-C, and then nothing can test it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
