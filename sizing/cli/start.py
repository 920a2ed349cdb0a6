"""The console script. It imports nothing of its own, so that Ctrl-C while the frame is imported is no traceback."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line of this process."""
    try:
        from sizing.cli.main import main as frame

        frame()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
