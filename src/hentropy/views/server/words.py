"""Errors of the library in words that fit a page and a program over the network: what Python calls it stays out."""

import re

IN_OTHER_WORDS = (
    (r"pass replace_value=True to correct it", "open that trial to correct it"),
    (r"if the experiment did not work, tell it with failed='why'", "if the experiment did not work, mark it as failed"),
    (r"ask a design, run it, tell its value", "ask for an experiment, run it, and enter its value"),
    (r"load it only where you trust it", "ask and decide with the command line"),
    (r": use --map COLUMN=\S+", ": say which column it is"),
    (r": use --value COLUMN", ": say which column has them"),
    (r"^--map: ", "columns: "),
    (r"; other data are added by `hentropy attach`", "; other data are attached"),
    (r"it must be a number or \(value, standard error\)", "it must be a number"),
)


def sentence(text: str) -> str:
    """The text as a sentence: it begins with a capital letter and ends with a point."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', ':')) else '.'}"


def in_words_of_the_page(sentence: str) -> str:
    """A sentence in which nobody is told to call a function or to type an option."""
    for pattern, words in IN_OTHER_WORDS:
        sentence = re.sub(pattern, words, sentence)
    return sentence
