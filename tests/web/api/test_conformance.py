"""The served document is true: Schemathesis plays it against a live site, with every check on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx2 as httpx
import pytest

from durable_site.embedded.roles import CHECKOUT
from tests.covers import covers
from tests.web.api.serving import serve

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Site

SECONDS = 60
"""That Schemathesis plays; `make test` has to end."""


@covers("R121")
@pytest.mark.timeout(300)
def test_every_operation_does_what_the_document_says(fresh_site: Site, tmp_path: Path) -> None:
    """R121: good and bad data, links and wrong tokens, for two tenants; nothing is left out.

    No answer that the document does not know, no error of ours, and each operation succeeds.
    """
    seeded = json.loads(fresh_site.run("-m", "tests.web.api.seeding"))
    known, report = tmp_path / "seeded.json", tmp_path / "played.har"
    known.write_text(json.dumps(seeded))
    address = serve(fresh_site, DURABLE_API_RATE="none")
    document = httpx.get(f"{address}/api/v1/openapi.json").json()

    walked = _walk(address, document, seeded)
    played = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/api/v1/openapi.json"),
            *("--header", f"Authorization: Bearer {seeded['tokens'][0]}"),
            *("--phases", "examples,coverage,fuzzing,stateful", "--checks", "all", "--mode", "all"),
            *("--max-time", str(SECONDS), "--max-examples", "10", "--continue-on-failure"),
            *("--seed", os.environ.get("DURABLE_TEST_SEED", "1"), "--generation-database", "none"),
            *("--max-failures", "20", "--report", "har", "--report-har-path", str(report)),
        ],
        cwd=tmp_path,  # it leaves a folder behind
        env={
            **fresh_site.environment,
            "SEEDED": str(known),
            "PYTHONPATH": str(CHECKOUT),
            "SCHEMATHESIS_HOOKS": "tests.web.api.strategies",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert played.returncode == 0, played.stdout[-8000:] + played.stderr[-2000:]
    entries = json.loads(report.read_text())["log"]["entries"]
    answers = walked + [
        (each["request"]["method"], each["request"]["url"], each["response"]["status"])
        for each in entries
    ]
    assert _undeclared(document, answers) == []
    assert _never_well(document, answers) == []


def _readable(document: dict[str, Any], seeded: dict[str, Any]) -> list[str]:
    """Every address that can be read, of the Turn that has ended."""
    names = {"namespace": "acme", "agent": "night-report", "version": "1"}
    names |= {f"{kind}Id": seeded[kind][0] for kind in ("session", "thread", "run", "step")}
    names |= {"turnId": seeded["ended"][0], "modelCallId": seeded["call"][0]}
    wanted = {path for path, found in document["paths"].items() if "get" in found}
    return [
        path.format(**names) for path in wanted if set(re.findall(r"{(\w+)}", path)) <= names.keys()
    ]


def _control(client: httpx.Client, turn: str) -> None:
    """Tell a Turn all that it can be told."""
    for name, body in (
        ("steer", {"input": "left"}),
        ("inject", {"input": "a note"}),
        ("withdraw", {"target": "w-steer"}),
        ("signals", {"key": "x.acme.go"}),
        ("pause", {}),
    ):
        client.post(f"{turn}/{name}", json={"requestId": f"w-{name}", **body})
    seen = {"requestId": "w-resume", "expectedRevision": client.get(turn).json()["revision"]}
    client.post(f"{turn}/resume", json=seen)
    client.post(f"{turn}/cancel", json={"requestId": "w-cancel"})


def _walk(
    address: str, document: dict[str, Any], seeded: dict[str, Any]
) -> list[tuple[str, str, int]]:
    """Do in order what chance would rarely hit: one answer is part of the next request."""
    answers: list[tuple[str, str, int]] = []

    def note(answer: httpx.Response) -> None:
        answers.append((answer.request.method, str(answer.request.url), answer.status_code))

    root = f"{address}/api/v1/namespaces/acme"
    turns = f"{root}/sessions/{seeded['session'][0]}/turns"
    bearer = {"Authorization": f"Bearer {seeded['tokens'][0]}"}
    with httpx.Client(headers=bearer, event_hooks={"response": [note]}) as client:
        _control(client, f"{turns}/{seeded['turn'][-1]}")
        client.post(f"{turns}/{seeded['held'][0]}/release", json={"requestId": "w-release"})
        for kind in ("run", "step", "model-call"):
            found = seeded[kind.removeprefix("model-")][0]
            client.get(f"{turns}/{seeded['ended'][0]}/{kind}s/{found}")
        asked = f"{turns}/{seeded['asking'][0]}/interactions"
        first, second, *_ = client.get(f"{asked}/pending").json()["items"]
        answer = {"requestId": "w-answer", "response": False}
        client.post(f"{asked}/{first['interactionId']}/respond", json=answer)
        client.post(f"{asked}/{second['interactionId']}/set-aside", json={"requestId": "w-aside"})
        client.post(f"{root}/sessions", json={"sessionId": "empty", "agent": "night-report"})
        task = {"sessionId": seeded["session"][0], "requestId": "w-response", "input": "hello"}
        started = client.post(f"{address}/api/v1/responses", json=task).json()["id"]
        place = f"{address}/api/v1/responses/{started}"
        client.get(place, params={"sessionId": seeded["session"][0]})
        session = f"{root}/sessions/{seeded['session'][0]}"
        client.post(f"{session}/threads", json={"threadId": "walked", "agent": "night-report"})
        client.post(
            f"{session}/threads/walked/turns", json={"requestId": "w-turn", "input": "hello"}
        )
        client.post(f"{session}/threads/main/repin", json={"version": "1"})
        client.put(f"{session}/retention", json={"events": 5000})
        client.post(f"{root}/rules", json={"tool": "send", "allow": False})
        client.post(f"{root}/rules/{seeded['rule'][0]}/revoke", json={})
        execution = seeded["execution"][0]
        client.get(f"{turns}/{seeded['asking'][0]}/executions/{execution}/output")
        for path in _readable(document, seeded):
            client.get(f"{address}{path}")
        client.post(f"{root}/sessions/empty/threads/main/close")
        client.post(f"{root}/sessions/empty/close")
    return answers


def _operation(document: dict[str, Any], method: str, url: str) -> dict[str, Any] | None:
    """What the document says of a request, by its longest fitting path."""
    path = re.sub(r"^https?://[^/]+", "", url).split("?")[0]
    fitting = [
        template
        for template, found in document["paths"].items()
        if method.lower() in found
        and re.fullmatch(re.sub(r"\\{[^}]+\\}", "[^/]+", re.escape(template)), path)
    ]
    if not fitting:
        return None
    operation: dict[str, Any] = document["paths"][min(fitting, key=lambda each: each.count("{"))]
    return dict(operation[method.lower()])


def _undeclared(
    document: dict[str, Any], answers: list[tuple[str, str, int]]
) -> list[tuple[str, str, int]]:
    return [
        (method, url, status)
        for method, url, status in answers
        if (known := _operation(document, method, url)) is not None
        and str(status) not in known["responses"]
    ]


def _never_well(document: dict[str, Any], answers: list[tuple[str, str, int]]) -> list[str]:
    """Operations that no answer shows to succeed."""
    well = {
        known["operationId"]
        for method, url, status in answers
        if status < 300 and (known := _operation(document, method, url)) is not None
    }
    every = {each["operationId"] for found in document["paths"].values() for each in found.values()}
    return sorted(every - well)
