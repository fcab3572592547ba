"""Studies on a server, used from Python as if they were here."""

from hentropy.views.client.remote import RemoteStudy

__all__ = ["RemoteStudy"]
