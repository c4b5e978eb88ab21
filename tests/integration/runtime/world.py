"""Everything a test may compare before and after: all rows of the Brain's tables."""

from __future__ import annotations

from typing import Any

from django.apps import apps


def everything() -> dict[str, list[tuple[Any, ...]]]:
    """Give every row of every table of the Brain house."""
    models = apps.get_app_config("sessions_app").get_models()
    return {
        model.__name__: list(model._default_manager.order_by("pk").values_list())
        for model in models
    }
