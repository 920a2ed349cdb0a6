"""The page as PDF, through WeasyPrint: an optional extra, which needs Pango on the system (decision 15).

It is drawn in a process of its own: libraries of the system that lack what they need, such as any font, end the process
that calls them, and the answer of a search is not lost with it.
"""

import os
import subprocess
import sys
from typing import Any

from sizing.report.html import page_text
from sizing.report.reported import Reported
from sizing.report.seal import PDF_COMMENT, is_untouched, sealed
from sizing.units.errors import BadInput, Problem


def check_pdf() -> None:
    """Raise BadInput where PDF cannot be made here: asked before a long search."""
    _weasyprint()


def pdf(reported: Reported) -> bytes:
    """The whole file, its appendices printed small at the end. No date and no random number goes into it.

    Raises BadInput where the libraries of the system cannot draw it.
    """
    check_pdf()
    page = page_text(reported, is_open=True).encode()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-P", "-m", __name__]
    drawn = subprocess.run(command, input=page, capture_output=True, env=environment, check=False)
    if drawn.returncode:
        raise _not_drawn(drawn.returncode, drawn.stderr.decode(errors="replace"))
    content = drawn.stdout
    return sealed(content if content.endswith(b"\n") else content + b"\n", PDF_COMMENT)


def _draw(page: str) -> bytes:
    weasyprint = _weasyprint()
    document = weasyprint.HTML(string=page, url_fetcher=_nothing)
    content: bytes = document.write_pdf(pdf_variant="pdf/ua-1")
    return content


def _not_drawn(code: int, told: str) -> BadInput:
    """By the signal that ended the process, or by the last line that it left."""
    why = f"ended by signal {-code}" if code < 0 else (told.strip().splitlines() or [f"exit code {code}"])[-1]
    what = f"the page could not be drawn as PDF: the libraries of the system failed ({why})"
    accepted = "at least one font on the system (Debian: fontconfig, fonts-dejavu-core), or --format html"
    return BadInput(Problem(what, "--format pdf", accepted=accepted))


def is_untouched_pdf(content: bytes) -> bool:
    """Whether a file is exactly what the tool wrote."""
    return is_untouched(content, PDF_COMMENT)


def _weasyprint() -> Any:
    try:
        import weasyprint
    except ImportError as error:
        what = f"PDF needs a package that is not installed: {error.name or error}"
        raise BadInput(Problem(what, "--format pdf", accepted="pip install 'sizing[pdf]', or --format html")) from None
    except OSError as error:  # WeasyPrint is there, and a library of the system is not
        what = f"PDF needs a library of the system: {str(error).splitlines()[0]}"
        accepted = "Pango (Debian: libpango-1.0-0, libpangoft2-1.0-0, libharfbuzz-subset0), or --format html"
        raise BadInput(Problem(what, "--format pdf", accepted=accepted)) from None
    return weasyprint


def _nothing(address: str, *_more: object, **_others: object) -> Any:
    raise ValueError(f"nothing is fetched: {address}")


if __name__ == "__main__":
    sys.stdout.buffer.write(_draw(sys.stdin.buffer.read().decode()))
