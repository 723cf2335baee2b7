"""`python -m bifrost` is the command `bifrost`."""

from bifrost.cli.main import main

if __name__ == "__main__":
    main()
