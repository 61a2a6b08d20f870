"""The OpenAPI document: valid, complete, and true to the application (`Api` checks every reply of every test)."""

from pathlib import Path

import httpx
import pytest
from jsonschema import Draft202012Validator, ValidationError

from service_cases import api_of, check_reply, start_session
from tombola import UCB1, SessionFile
from tombola.service.app import create_app
from tombola.service.openapi import API, Operation, document


def test_document_lists_every_route_of_the_api(tmp_path: Path) -> None:
    with api_of(start_session(tmp_path / "calls.run")) as api:
        served = api("GET", "/openapi.json").json()
        app = create_app(api.service)
        routes = {(m, r.path) for r in app.app.routes for m in r.methods if m != "HEAD"}  # type: ignore[attr-defined]
    listed = {(method.upper(), path) for path, found in served["paths"].items() for method in found}
    assert {(method, path) for method, path in routes if path.startswith(("/v1", "/healthz", "/readyz"))} <= listed
    assert listed <= routes
    ids = [one["operationId"] for found in served["paths"].values() for one in found.values()]
    assert len(ids) == len(set(ids)) == len(API)
    assert all(one["summary"] for found in served["paths"].values() for one in found.values())


def test_schemas_are_valid() -> None:
    for operation in API:
        for schema in (operation.body, operation.reply):
            if isinstance(schema, dict):
                Draft202012Validator.check_schema(schema)


def test_fault_reply_without_a_field_is_detected() -> None:
    found = document([Operation("GET", "/x", None, test_schemas_are_valid, {"type": "object", "required": ["y"]})])  # type: ignore[arg-type]
    reply = httpx.Response(200, json={"z": 1}, request=httpx.Request("GET", "http://localhost/x"))
    with pytest.raises(ValidationError):
        check_reply(found, "GET", reply)


def test_status_of_scores_fits_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "calls.run"
    with SessionFile.start(path, ["x", "y"], ["a", "b"], UCB1(), seed=1, kind="scores", range=(0, 10)) as file:
        file.record(file.next()[0].round, reward=0.75)
    with api_of(path) as api:
        found = api("GET", "/v1/sessions/calls/status").json()
    assert (found["quantity"], found["score"], "loss" in found) == ("score", 7.5, False)
