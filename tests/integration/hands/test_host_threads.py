"""A whole Hands process: tools that do not stop, and arguments that a shell would obey."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from hands_app.contract.messages import ExecutionState, UpdateKind
from hands_app.contract.wire import encode
from tests.covers import poses
from tests.integration.hands.examples import execute, until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from hands_app.contract.messages import Execute, Update
    from hands_app.worker.configuration import Configuration

SLOTS: Final = 3
CALLS: Final = 9
DEADLINE: Final = 0.2
TOLERANCE: Final = 0.5
HOSTILE: Final = (
    '"; touch /tmp/x; echo "',
    "'; rm -rf ~ #",
    "$(touch x)",
    "`touch x`",
    "a\nb\r\nc",
    "--output=/etc/passwd",
    "-rf",
    "a && b | c > d",
    "%s {0} ${HOME} \\",
)


@poses("C75")
def test_c75_threads_that_miss_their_deadline_take_slots_and_no_more(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """The deadline is kept, the number of threads is bounded, each real end is taken in (C75)."""
    released = threading.Event()

    @remote(effect="once", deadline=DEADLINE)
    def deaf() -> str:
        released.wait(60)
        return "after all"

    with serving(configuration, mailbox, deaf, slots=SLOTS) as host:
        commands = [call(host, deaf) for _ in range(CALLS)]
        until(lambda: len(_in_doubt(mailbox, commands)) == SLOTS, "doubt about all that run")
        running = _in_doubt(mailbox, commands)
        threads = _tool_threads()
        told = {command.execution_id: mailbox.kinds(command) for command in commands}
        released.set()
        until(
            lambda: all(_ended(mailbox, command) for command in commands), "the end of every call"
        )

    assert threads == SLOTS
    assert [kinds for name, kinds in told.items() if name not in running] == (
        [["admitted"]] * (CALLS - SLOTS)
    )
    assert min(_took(mailbox.of(command)) for command in commands) < DEADLINE + TOLERANCE
    until(lambda: _tool_threads() == 0, "the end of every thread")


@poses("T26")
def test_t26_arguments_arrive_as_they_were_sent(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """Quotes, newlines, `$()` and leading dashes are text, from the command to the result (T26)."""

    @remote(effect="read")
    def repeat(words: list[str]) -> list[str]:
        return words

    with serving(configuration, mailbox, repeat) as host:
        command = execute(repeat.binding, {"words": list(HOSTILE)})
        host.execute(encode(command))
        result = mailbox.result(command)

    assert (result.state, result.content) == (ExecutionState.COMPLETED, list(HOSTILE))


def _in_doubt(mailbox: Mailbox, commands: list[Execute]) -> list[str]:
    return [each.execution_id for each in commands if "result" in mailbox.kinds(each)]


def _ended(mailbox: Mailbox, command: Execute) -> bool:
    kinds = mailbox.kinds(command)
    return "result" in kinds and mailbox.result(command).state is ExecutionState.COMPLETED


def _took(told: list[Update]) -> float:
    """Seconds from the start of a call to the first that was said of its end."""
    started = next(each for each in told if each.kind is UpdateKind.STARTED)
    ended = next(each for each in told if each.kind is UpdateKind.RESULT)
    return (ended.at - started.at).total_seconds()


def _tool_threads() -> int:
    return sum(thread.name.startswith("tool-exe_") for thread in threading.enumerate())
