"""The device: from a place to a report, with nothing of the place left behind."""

from __future__ import annotations

from datetime import date

from trasgo_lib.collection.plan import CollectionPlan
from trasgo_lib.collection.reports import Report


class Client:
    """One device. Holds its key and what it has spent; see ``device_budget`` for the state.

    Args:
        plan: the compiled collection.
        device_key: 32 secret random bytes, made and kept on the device.
        state: what it has spent so far; default nothing.
    """

    def __init__(self, plan: CollectionPlan, device_key: bytes, state: object = None) -> None:
        raise NotImplementedError

    def report(self, latitude: float, longitude: float, day: date) -> Report:
        """The report of a window; charged before it is drawn.

        Args:
            latitude: WGS84 degrees, private.
            longitude: WGS84 degrees, private.
            day: today.

        Raises:
            InputContractError: off the globe, missing or infinite.
            BudgetError: the window was answered already, or a budget is spent; nothing is drawn.
        """
        raise NotImplementedError
