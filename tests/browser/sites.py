"""The docs site, built once and served as any web server would."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from documentation.site import build


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def a_site(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of the built site, and all its pages."""
    site = folder / "site"
    build(site, folder / "work")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    pages = sorted(path.relative_to(site).as_posix().removesuffix("index.html") for path in site.rglob("*.html"))
    try:
        yield f"http://127.0.0.1:{server.server_port}/", pages
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
        shutil.rmtree(folder)
