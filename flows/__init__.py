"""The order of stages, and the command. Nothing is computed here."""
