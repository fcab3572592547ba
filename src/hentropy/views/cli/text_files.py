"""Text files as people have them."""

from pathlib import Path

from hentropy.errors import InputError


def read_text(file: Path) -> str:
    """The text of a file in UTF-8."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {file}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is not a text in UTF-8 (byte {error.start} is {error.object[error.start]:#x}); save it as"
            " CSV UTF-8"
        ) from None
