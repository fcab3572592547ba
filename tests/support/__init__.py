"""Small real beliefs and slow, obvious oracles that tests share."""
