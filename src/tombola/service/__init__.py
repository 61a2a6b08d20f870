"""HTTP service: sessions and races behind a JSON API and a page, with tokens; `tombola serve` starts it.

| module | content |
|---|---|
| `app` | the ASGI application: routes, authorisation, headers, logs |
| `hosted` | one open file with its writer thread |
| `endpoints` | the JSON API under /v1 |
| `pages` | pages for people, rendered on the server |
| `parsing` | bodies and parameters of requests, checked |
| `problems` | errors as problem+json |
| `tokens` | tokens with roles, stored as hashes |
| `client` | `tombola.Client`: the API from Python, with retries |
| `server` | uvicorn, started with safe options |
"""
