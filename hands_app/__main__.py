"""Runs the command line: `python -m hands_app migrate`."""

import sys

from hands_app.cli import main

sys.exit(main(sys.argv[1:]))
