"""Middleware that a model server loads: clients reach only paths for which vLLM checks the API key, and probes and metrics.

Standard library only; it runs in the image of the server. ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html
"""

API, OPEN = "/v1/", ("/health", "/metrics", "/metrics/")
POLICY_VIOLATION = 1008
"""Close code of WebSockets."""


class OpenPaths:
    """Answers 404 to every other path, such as /invocations and /tokenize, which vLLM serves without the key."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        path = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or path.startswith(API) or path in OPEN:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
