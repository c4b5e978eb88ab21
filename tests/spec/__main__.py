"""`make coverage-of-spec`: a line per requirement; `--cases` adds the cases, `--open` names gaps.

With `--strict` the exit status is 1 when something of what is built has no test.
"""

import argparse
import sys

from tests.spec.asked import cases, requirements


def main(arguments: list[str]) -> int:
    """Print the lines."""
    parser = argparse.ArgumentParser(prog="python -m tests.spec", description=__doc__)
    parser.add_argument("--cases", action="store_true", help="cases, threats and store rules too")
    parser.add_argument("--open", action="store_true", help="only what nothing holds yet")
    parser.add_argument("--strict", action="store_true", help="fail when something is open")
    given = parser.parse_args(arguments)
    asked = [*requirements(), *(cases() if given.cases else [])]
    for each in asked:
        if each.open or not given.open:
            print(each.line)
    return int(given.strict and any(each.open for each in asked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
