"""The operations of the JSON API: method, path, least role, handler, schemas."""

from tombola.service import endpoints, openapi, race_endpoints
from tombola.service.openapi import Operation

# Paths of a session and of a race.
SESSION, RACE = "/v1/sessions/{name}", "/v1/races/{name}"

# All operations: method, path, least role (None: public), handler, schema of the reply, and options.
API = (
    Operation("GET", "/healthz", None, endpoints.health, openapi.HEALTH),
    Operation("GET", "/readyz", None, endpoints.ready, openapi.READY),
    Operation("GET", "/openapi.json", None, endpoints.openapi, {"type": "object"}),
    Operation("GET", "/v1", "reader", endpoints.overview, openapi.OVERVIEW),
    Operation(
        "POST", f"{SESSION}/next", "worker", endpoints.next_tickets, openapi.TICKETS, openapi.LEASE_BODY, takes_key=True
    ),
    Operation("POST", f"{SESSION}/record", "worker", endpoints.record, openapi.RECORDED, openapi.OUTCOMES_BODY),
    Operation("POST", f"{SESSION}/amend", "worker", endpoints.amend, openapi.AMENDED, openapi.AMEND_BODY),
    Operation("POST", f"{SESSION}/cancel", "worker", endpoints.cancel, openapi.CANCELLED, openapi.TICKET_BODY),
    Operation("GET", f"{SESSION}/status", "reader", endpoints.status, openapi.SESSION_STATUS),
    Operation("GET", f"{SESSION}/ranking", "reader", endpoints.ranking, openapi.RANKING),
    Operation("GET", f"{SESSION}/tickets/{{ticket}}", "reader", endpoints.ticket, openapi.ASSIGNMENT),
    Operation("GET", f"{SESSION}/export.{{kind}}", "reader", endpoints.export_table, openapi.TABLE),
    Operation("GET", f"{SESSION}/events", "reader", endpoints.events, openapi.STREAM),
    Operation(
        "POST", f"{RACE}/next", "worker", race_endpoints.next_calls, openapi.CALLS, openapi.LEASE_BODY, takes_key=True
    ),
    Operation("POST", f"{RACE}/record", "worker", race_endpoints.record, openapi.ANSWERED, openapi.ANSWERS_BODY),
    Operation("GET", f"{RACE}/status", "reader", race_endpoints.status, openapi.RACE_STATUS),
    Operation("GET", f"{RACE}/verdict", "reader", race_endpoints.verdict, openapi.VERDICT),
    Operation("GET", f"{RACE}/export.{{kind}}", "reader", race_endpoints.export_table, openapi.TABLE),
    Operation("GET", f"{RACE}/events", "reader", race_endpoints.events, openapi.STREAM),
    Operation("GET", "/v1/files/{name}/backup", "admin", endpoints.backup, openapi.DATABASE),
    Operation("POST", "/v1/files/{name}/pause", "admin", endpoints.pause, openapi.PAUSED, openapi.PAUSE_BODY),
    Operation("GET", "/v1/tokens", "admin", endpoints.tokens, openapi.TOKENS),
    Operation("POST", "/v1/tokens", "admin", endpoints.add_token, openapi.NEW_TOKEN, openapi.TOKEN_BODY, 201),
    Operation("DELETE", "/v1/tokens/{owner}", "admin", endpoints.remove_token, openapi.REMOVED),
)
