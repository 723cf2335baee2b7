"""The entry point of the command `bifrost`.

A running gateway keeps the modules that read its command line in memory, and typer takes 1.3 MiB. So a valid `run` is
read here, and everything else by `commands.py`: other commands, --help, and invalid command lines.
"""

import sys

INTERRUPTED = 130
"""Exit status 128 + SIGINT, as of shells and of typer."""


def main() -> None:
    """Run the command line of this process."""
    from bifrost.cli.run import read_arguments, serve

    asked = read_arguments(sys.argv[1:])
    if asked is not None:
        try:
            sys.exit(serve(asked))
        except KeyboardInterrupt:  # Ctrl-C before the gateway handles signals.
            sys.exit(INTERRUPTED)
    from bifrost.cli.commands import app

    app(prog_name="bifrost")


if __name__ == "__main__":
    main()
