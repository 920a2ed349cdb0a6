"""Code of the tests in a process of its own, which no other test has touched."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def in_a_process(code: str) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr
