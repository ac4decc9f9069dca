"""The object store: create-once puts, listing, and folders with modes that do not depend on the umask."""

from trasgo_lib.storage.folders import flush, make_folder, set_mode
from trasgo_lib.storage.location import local_root
from trasgo_lib.storage.objects import ObjectStore, open_store

__all__ = ["ObjectStore", "flush", "local_root", "make_folder", "open_store", "set_mode"]
