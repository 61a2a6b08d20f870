"""The OpenAPI document: valid, complete, and true to the application (`Api` checks every reply of every test)."""

import random
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator, ValidationError

from service_cases import api_of, check_reply, start_session
from tombola import UCB1, SessionFile
from tombola.service.app import create_app
from tombola.service.openapi import API, Operation, document
from tombola.service.parsing import check_json
from tombola.service.problems import ProblemError


def test_document_lists_every_route_of_the_api(tmp_path: Path) -> None:
    with api_of(start_session(tmp_path / "calls.run")) as api:
        served = api("GET", "/openapi.json").json()
        app = create_app(api.service)
        routes = {(m, r.path) for r in app.app.routes for m in r.methods if m != "HEAD"}  # type: ignore[attr-defined]
    listed = {(method.upper(), path) for path, found in served["paths"].items() for method in found}
    assert {
        (method, path) for method, path in routes if path.startswith(("/v1", "/healthz", "/readyz"))
    } <= listed
    assert listed <= routes
    ids = [one["operationId"] for found in served["paths"].values() for one in found.values()]
    assert len(ids) == len(set(ids)) == len(API)
    assert all(one["summary"] for found in served["paths"].values() for one in found.values())


def test_schemas_are_valid() -> None:
    for operation in API:
        for schema in (operation.body, operation.reply):
            if isinstance(schema, dict):
                Draft202012Validator.check_schema(schema)


def random_value(rng: random.Random, schema: dict[str, Any]) -> Any:
    """Return a value that mostly has the type of a schema, and often fits it."""
    if rng.random() < 0.1:
        odd: list[Any] = [
            None,
            True,
            "",
            "x" * 70,
            -1,
            0.5,
            2,
            1e9 + 0.5,
            float("inf"),
            [],
            {},
            [0.5],
            ["x"],
            {"a": 1},
        ]
        return rng.choice(odd)
    if "anyOf" in schema:
        return random_value(rng, rng.choice(schema["anyOf"]))
    if "enum" in schema:
        return rng.choice([*schema["enum"], "king"])
    if schema["type"] == "object":
        names = [
            name
            for name in schema["properties"]
            if name in schema["required"] or rng.random() < 0.5
        ]
        names = rng.sample(names, len(names) - (rng.random() < 0.05 and len(names) > 0))
        found = {name: random_value(rng, schema["properties"][name]) for name in names}
        return found | ({"other": 1} if rng.random() < 0.05 else {})
    if schema["type"] == "array":
        return [random_value(rng, schema["items"]) for _ in range(rng.choice([0, 1, 1, 2]))]
    return "Ann" if schema["type"] == "string" else rng.choice([0, 1, 0.25, True])


def test_bodies_are_checked_as_by_jsonschema() -> None:
    """The twin of `check_json`."""
    rng, counts = random.Random(1), Counter[bool]()
    for operation in API:
        for _ in range(400 if operation.body else 0):
            body = random_value(rng, operation.body or {})
            is_valid = Draft202012Validator(operation.body).is_valid(body) and "inf" not in repr(
                body
            )
            with nullcontext() if is_valid else pytest.raises(ProblemError):
                check_json("request", body, operation.body or {})
            counts[is_valid] += 1
    assert min(counts.values()) > 500, counts


def test_fault_reply_without_a_field_is_detected() -> None:
    schema = {"type": "object", "required": ["y"]}
    operation = Operation("GET", "/x", None, test_schemas_are_valid, schema)  # type: ignore[arg-type]
    found = document([operation])
    reply = httpx.Response(200, json={"z": 1}, request=httpx.Request("GET", "http://localhost/x"))
    with pytest.raises(ValidationError):
        check_reply(found, "GET", reply)


def test_status_of_scores_fits_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "calls.run"
    with SessionFile.start(
        path, ["x", "y"], ["a", "b"], UCB1(), seed=1, kind="scores", range=(0, 10)
    ) as file:
        file.record(file.next()[0].ticket, reward=0.75)
    with api_of(path) as api:
        found = api("GET", "/v1/lists/calls/status").json()
    assert (found["quantity"], found["score"], "loss" in found) == ("score", 7.5, False)
