"""The entry point of the command `bifrost`.

A running gateway keeps in memory whatever read its command line, and typer takes 1.3 MiB. So a `run` that is written
as it should be is understood here, and everything else by `commands.py`: other commands, --help, and what is wrong.
"""

import sys

INTERRUPTED = 130
"""128 + SIGINT, what shells give; typer too."""


def main() -> None:
    """Run the command line of this process."""
    from bifrost.cli.run import read_arguments, serve

    asked = read_arguments(sys.argv[1:])
    if asked is not None:
        try:
            sys.exit(serve(asked))
        except KeyboardInterrupt:  # Before the gateway takes signals.
            sys.exit(INTERRUPTED)
    from bifrost.cli.commands import app

    app(prog_name="bifrost")


if __name__ == "__main__":
    main()
