"""`python -m dpbandits`: the command line, where its script is not on the path."""

from dpbandits.cli import main

if __name__ == "__main__":
    main()
