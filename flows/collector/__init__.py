"""The collector service: HTTP in front of the receiver. Only ``app`` knows FastAPI, only ``serving`` the server."""
