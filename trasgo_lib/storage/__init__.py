"""The object store: create-once puts, listing, and folders with modes that do not depend on the umask."""

from trasgo_lib.storage.access import (
    STANDARD_PREFIX,
    Credentials,
    S3Access,
    access_from_environment,
    check_endpoint,
    environment_endpoint,
    environment_region,
    read_credentials,
    unusable,
)
from trasgo_lib.storage.folders import flush, make_folder, set_mode
from trasgo_lib.storage.location import Bucket, local_root, place_of
from trasgo_lib.storage.objects import ObjectStore, open_store

__all__ = [
    "STANDARD_PREFIX",
    "Bucket",
    "Credentials",
    "ObjectStore",
    "S3Access",
    "access_from_environment",
    "check_endpoint",
    "environment_endpoint",
    "environment_region",
    "flush",
    "local_root",
    "make_folder",
    "open_store",
    "place_of",
    "read_credentials",
    "set_mode",
    "unusable",
]
