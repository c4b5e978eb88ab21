#!/usr/bin/env python
"""Django's commands, and `durable`, for this site."""

import os
import sys


def main() -> None:
    """Run the command named on the command line with this site's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "durable_site.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415  after the setting

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
