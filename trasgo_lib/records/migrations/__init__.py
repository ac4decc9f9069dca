"""Schema history of the records database, applied by ``trasgo_lib.records.migrate``; it only ever expands."""
