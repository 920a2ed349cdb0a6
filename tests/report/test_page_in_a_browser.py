"""The page of the shipped workload in a browser: quiet, without the network, and two or three pages of paper."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from sizing.api import load_workload, solve
from sizing.plan.bill import bill_of_units
from sizing.plan.plan import Plan
from sizing.report.html import page
from sizing.report.reported import Reported

ROOT = Path(__file__).resolve().parent.parent.parent
BROWSER = (
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-proxy-server", "--enable-logging=stderr", "--v=0"),
)

pytestmark = pytest.mark.needs_program("chromium", "pdfinfo", "pdftotext")


class Served:
    """A page on this machine and all that a browser asked for."""

    def __init__(self, content: bytes) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                found = self.path == "/page.html"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                if found:
                    self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/page.html"
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def shipped() -> bytes:
    plan = solve(load_workload(ROOT / "workloads" / "customer.yaml"))
    assert isinstance(plan, Plan)
    return page(Reported(plan, bill_of_units(plan)))


@pytest.fixture
def served(shipped: bytes) -> Iterator[Served]:
    found = Served(shipped)
    yield found
    found.server.shutdown()
    found.server.server_close()


def browse(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*BROWSER, f"--user-data-dir={folder / 'user'}", *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120, env={**os.environ})


def test_it_prints_to_two_or_three_pages_and_asks_for_nothing_else(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "page.pdf"
    log = tmp_path / "net.json"
    done = browse(tmp_path, f"--print-to-pdf={file}", "--no-pdf-header-footer", f"--log-net-log={log}", served.address)
    told = subprocess.run(["pdfinfo", str(file)], capture_output=True, check=True, text=True).stdout
    pages = re.search(r"Pages:\s+(\d+)", told)
    assert pages is not None
    assert int(pages[1]) in (2, 3)
    assert "CONSOLE" not in done.stderr
    assert {*served.asked} - {"/favicon.ico"} == {"/page.html"}
    origin = served.address.removesuffix("/page.html")
    started = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    by_the_page = {event["url"] for event in started if event.get("initiator") == origin and "url" in event}
    assert by_the_page <= {served.address, f"{origin}/favicon.ico"}
    text = subprocess.run(["pdftotext", "-layout", str(file), "-"], capture_output=True, check=True, text=True).stdout
    for said in ("Example customer", "HBM budget", "Pod by Pod", "Bill of units", "sum of what is known"):
        assert said in text
    assert "Assumptions and sources" not in text  # folded: it prints where a reader opens it


def test_nothing_runs_over_the_edge(served: Served, tmp_path: Path, shipped: bytes) -> None:
    """The page itself forbids scripts, so that the question is put to a copy without its policy."""
    asked = shipped.replace(b"default-src 'none'", b"default-src 'unsafe-inline'")
    script = b"<script>const it = document.documentElement; document.title = it.scrollWidth - it.clientWidth</script>"
    copy = tmp_path / "copy.html"
    copy.write_bytes(asked.replace(b"</body>", script + b"</body>"))
    for width in (390, 1280):
        done = browse(tmp_path, f"--window-size={width},900", "--dump-dom", copy.as_uri())
        title = re.search(r"<title>(-?\d+)</title>", done.stdout)
        assert title is not None
        assert int(title[1]) <= 0
