"""Tools that wait: a call of one is settled by a signal of its key, or by its timeout.

    paid = wait_for("x.shop.paid", timeout=3 * 86_400, by="order_id")

It runs nowhere. While the call is open the Turn holds no process, and may do so for months.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, NoReturn

from pydantic import StringConstraints

from hands_app.contract.binding import BY_SIGNAL, EffectClass, ToolBinding
from hands_app.contract.tool_schema import Signature, model_of
from hands_app.contract.tools import Tool

_Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
_DESCRIPTION: Final = "Wait until {} is reported; gives what was reported."


def wait_for(
    key: str,
    *,
    timeout: float | None = None,
    by: str | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Tool:
    """Make a tool that waits for a signal `x.<ns>.<name>` and returns its content.

    `timeout` is in seconds; once it has passed the model reads an error result, without one the
    call waits for its signal alone. `by` names an argument: with it each call waits for its own
    key, `x.<ns>.<name>.<argument>`. Raises ValueError for a key of another form.
    """
    words = "_".join(key.split(".")[1:]).replace("-", "_")
    signature = Signature(model_of("Wait", {by: (_Word, ...)} if by else {}), None, True)  # noqa: FBT003 - an empty content is a result
    binding = ToolBinding(
        name=name or f"wait_for_{words}",
        description=description or _DESCRIPTION.format(words.replace("_", " ")),
        parameters=signature.schema(),
        route=BY_SIGNAL,
        effect=EffectClass.READ,
        deadline=timeout,
        target=key,
    )
    return Tool(_nowhere, binding, signature, effect_chosen=True)


def _nowhere(**_: Any) -> NoReturn:  # noqa: ANN401 - whatever it is called with
    message = "a tool that waits for a signal runs nowhere"
    raise RuntimeError(message)
