"""Runs the scripted provider as a process: `python -m durable_site.demo --fd 3`."""

import argparse
import signal
import socket
from contextlib import suppress
from pathlib import Path

from durable_site.demo.provider import ScriptedProvider
from durable_site.embedded.signals import requests_interrupt


def main() -> None:
    """Serve until told to stop; the first line printed is the address."""
    parser = argparse.ArgumentParser(prog="python -m durable_site.demo", description=__doc__)
    parser.add_argument("--fd", type=int, help="an inherited listening socket")
    parser.add_argument("--hold", type=int, help="the number of the request to hold open")
    parser.add_argument("--journal", type=Path, help="a file for one JSON line per event")
    options = parser.parse_args()
    listening = socket.socket(fileno=options.fd) if options.fd is not None else None
    provider = ScriptedProvider(options.journal, hold=options.hold, listening=listening)
    with suppress(KeyboardInterrupt), requests_interrupt(), provider:
        print(f"provider ready on {provider.base_url}", flush=True)  # noqa: T201 - its promise
        while True:
            signal.pause()


if __name__ == "__main__":
    main()
