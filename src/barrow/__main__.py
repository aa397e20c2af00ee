"""`python -m barrow` is `barrow`."""

from barrow.cli import main

if __name__ == "__main__":  # saved settings may name this module
    main()
