"""Thin Prefect tasks, one file a stage: a call into the library and a log line of public facts."""
