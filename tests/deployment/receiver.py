"""A receiver that prints each of an Alertmanager's notifications as a line."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer


class Notified(BaseHTTPRequestHandler):
    """The handler of a notification."""

    def do_POST(self) -> None:
        """Print the notification."""
        print(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, so that only notifications are printed."""


if __name__ == "__main__":
    HTTPServer(("0.0.0.0", 9095), Notified).serve_forever()  # noqa: S104 (in a container, on a network without a way out)
