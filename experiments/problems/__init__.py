"""How the data and the best losses that `hentropy.bench.problems` stores were found: commands that find them again."""
