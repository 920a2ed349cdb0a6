"""`python -m sizing` is the command `sizing`."""

from sizing.cli.start import main

if __name__ == "__main__":
    main()
