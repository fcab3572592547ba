"""The page and the JSON API of a store: `hentropy serve`."""
