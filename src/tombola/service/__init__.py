"""HTTP service: work lists, sessions and races, behind a JSON API and pages; `tombola serve`.

| module | content |
|---|---|
| `app` | the ASGI application: authorisation, headers, logs |
| `hosted_file` | one open file with its writer thread |
| `openapi` | the operations of the JSON API with roles and schemas, and the OpenAPI document |
| `endpoints` | handlers of the JSON API under /v1 |
| `pages` | pages for people, rendered on the server, and their forms |
| `parsing` | bodies and parameters of requests, checked |
| `problems` | errors as problem+json |
| `tokens` | tokens with roles, stored as hashes |
| `client` | `tombola.Client` and its async twin: the API from Python, with retries |
| `server` | uvicorn, started with safe options |
| `remote_race` | `tombola race run --url`: commands on this machine for a served race |
"""
