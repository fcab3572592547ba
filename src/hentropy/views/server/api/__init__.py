"""The JSON API: the verbs of the command line over the network."""
