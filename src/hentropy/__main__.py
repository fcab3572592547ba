"""`python -m hentropy`, and the command `hentropy`."""

import sys

from hentropy.errors import MissingExtra

try:
    from hentropy.views.cli.app import main
except MissingExtra as error:
    sys.exit("\n".join([f"error: {error}", *error.__notes__]))
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    main()
