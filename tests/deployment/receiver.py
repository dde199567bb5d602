"""Takes an Alertmanager's notifications, and prints each as a line."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer


class Notified(BaseHTTPRequestHandler):
    """A notification came in."""

    def do_POST(self) -> None:
        """Print it."""
        print(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Only notifications are printed."""


if __name__ == "__main__":
    HTTPServer(("0.0.0.0", 9095), Notified).serve_forever()  # noqa: S104 (in a container, on a network without a way out)
