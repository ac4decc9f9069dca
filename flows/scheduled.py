"""What a scheduled deployment runs: one release, statistics or training file, taken as far as it goes.

See ``deployments/prefect.yaml``.
"""

from __future__ import annotations

from pathlib import Path

from prefect import State, flow
from prefect.states import Completed

from flows.environment import actor, home, prepare_prefect
from flows.outcome import Outcome
from tasks.places import require_release
from tasks.policies import at_boundary
from tasks.session import RunRef, open_session
from trasgo_lib.records import State as RecordState
from trasgo_lib.training import read_product


@flow(name="scheduled release", persist_result=False, validate_parameters=False)
def scheduled_release(config: str) -> str | State[str]:
    """Run the version that a file declares; a published one is left as it is.

    Args:
        config: the file, from the worker's folder or absolute; public.

    Returns:
        The state it has come to, a public word. A version that waits as it should (for people, for its hour) completes
        as ``Waiting``, so that alerts on failed runs mean something; one that missed its embargo fails.

    Raises:
        TrasgoError: without row counts, since the orchestrator stores it. Those stand in the restricted root.
    """
    outcome = _run(config)
    if outcome.waiting is not None and outcome.state is not RecordState.HELD:
        return Completed(name="Waiting", message=str(outcome.waiting.reason), data="waiting")
    outcome.require_published_in_public()
    return outcome.state.value


@at_boundary
def _run(config: str) -> Outcome:
    from flows.version import run_version

    prepare_prefect(home())
    open_session.cache_clear()
    path = Path(config).absolute()
    product = read_product(path)
    require_release(product.base)
    ref = RunRef(config=str(path), config_digest=product.loaded.text_digest, home=str(home()), actor=actor())
    return run_version(ref)[1]
