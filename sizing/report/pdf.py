"""The page as PDF, through WeasyPrint: an optional extra, which needs Pango on the system (decision 15)."""

from typing import Any

from sizing.report.html import page_text
from sizing.report.reported import Reported
from sizing.report.seal import PDF_COMMENT, is_untouched, sealed
from sizing.units.errors import BadInput, Problem


def check_pdf() -> None:
    """Raise BadInput where PDF cannot be made here: asked before a long search."""
    _weasyprint()


def pdf(reported: Reported) -> bytes:
    """The whole file, its appendices printed small at the end. No date and no random number goes into it."""
    weasyprint = _weasyprint()
    document = weasyprint.HTML(string=page_text(reported, is_open=True), url_fetcher=_nothing)
    content: bytes = document.write_pdf(pdf_variant="pdf/ua-1")
    return sealed(content if content.endswith(b"\n") else content + b"\n", PDF_COMMENT)


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
