#!/bin/sh
# A week at the bench, as it would be typed. Run it in this folder: sh week.sh
set -eu

echo "== Monday: what was measured last year, and three assays to begin with"
hentropy attach study.toml earlier.csv --map Temp=temperature --map pH=ph --map activity=value --map sd=value_se
hentropy ask study.toml --count 3

echo "== Tuesday: number 5 is ready first, number 6 went wrong; one more to run"
hentropy tell study.toml 5 19.4 --std-error 1.5
hentropy fail study.toml 6 "precipitate in the cuvette"
hentropy ask study.toml

echo "== Wednesday: number 4 with a slip of the pen, and number 7"
hentropy tell study.toml 4 92.4 --std-error 1.5 --note "read off by eye"
hentropy tell study.toml 7 2.3 --std-error 1.5

echo "== Thursday: it was 29.4; the history keeps both"
hentropy tell study.toml 4 29.4 --std-error 1.5 --note "29.4, not 92.4: see the printout" --replace
hentropy show study.toml --number 4
hentropy ask study.toml --count 2
hentropy tell study.toml 9 38.8 --std-error 1.5
hentropy tell study.toml 8 0.8 --std-error 1.5

echo "== Friday: two more, of which one is left undone"
hentropy ask study.toml --count 2
hentropy tell study.toml 11 70.4 --std-error 1.5
hentropy withdraw study.toml 10 "no buffer left"
hentropy decide study.toml
