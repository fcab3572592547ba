"""hentropy: state the decision you will make, and choose the expensive experiments that improve it most.

Names are loaded on first use, all of them at once: commands that compute nothing start without PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hentropy._version import __version__ as __version__

if TYPE_CHECKING:
    from hentropy.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """On first use, this module gets all public names, as if it had imported them."""
    if not name.startswith("_") or name == "__all__":
        public = import_module("hentropy.public")
        globals().update({each: getattr(public, each) for each in (*public.__all__, "__all__")})
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*import_module("hentropy.public").__all__]
