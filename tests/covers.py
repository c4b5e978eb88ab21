"""What a test stands for: requirements that it fails without, and field cases that it poses."""

import re

import pytest

MOST = 3
"""More requirements than this in one test would say that it holds none of them closely."""


def covers(*requirements: str) -> pytest.MarkDecorator:
    """Name the requirements (`R034`) whose removal fails this test: one to three."""
    _check(requirements, r"R\d{3}")
    if len(requirements) > MOST:
        msg = f"a test covers at most {MOST} requirements, not {requirements}"
        raise ValueError(msg)
    return pytest.mark.covers(*requirements)


def poses(*cases: str) -> pytest.MarkDecorator:
    """Name the field cases (`C32`), threats (`T18`) or store rules (`S11`) that this test poses."""
    _check(cases, r"[CTS]\d{1,2}")
    return pytest.mark.poses(*cases)


def _check(names: tuple[str, ...], form: str) -> None:
    wrong = [name for name in names if re.fullmatch(form, name) is None]
    if wrong or not names:
        msg = f"not of the form {form}: {wrong or 'no name at all'}"
        raise ValueError(msg)
