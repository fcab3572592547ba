"""The page and the JSON API of a store: `hentropy serve`."""

from hentropy.errors import require

require("fastapi", "server")
require("uvicorn", "server")
require("cachetools", "server")
