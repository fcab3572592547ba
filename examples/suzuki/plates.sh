#!/bin/sh
# Plates of four until the budget is spent, as it would be typed. Run it in this folder: sh plates.sh
set -eu

hentropy check study.toml

plate=0
while [ "$plate" -lt "${PLATES:-6}" ]; do
    plate=$((plate + 1))
    echo "== Plate $plate"
    hentropy ask study.toml --count 4 --json > asked.json
    python laboratory.py < asked.json > results.csv
    hentropy tell study.toml results.csv
done

echo "== What would be decided"
hentropy decide study.toml
hentropy show study.toml
