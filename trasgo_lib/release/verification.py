"""What a verification finds: every check that was made, passed or not."""

from __future__ import annotations

from dataclasses import dataclass

from trasgo_lib.errors import Fault, Reason, VerificationError


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """One check of a published release.

    Args:
        name: which check.
        subject: file, noise unit or amount.
        passed: whether it held.
        required: what has to hold.
        came: what was found; public.
        reason: reason code of a failure.
    """

    name: str
    subject: str
    passed: bool
    required: str
    came: str
    reason: Reason

    def to_json(self) -> dict[str, str | bool]:
        """The result as strict JSON."""
        return {
            "name": self.name,
            "subject": self.subject,
            "passed": self.passed,
            "required": self.required,
            "came": self.came,
            "reason": self.reason.value,
        }


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """All results of one verification, in the order in which checks were made.

    Args:
        location: what was verified, as the caller named it.
        results: one entry a check.
    """

    location: str
    results: tuple[VerificationResult, ...]

    @property
    def passed(self) -> bool:
        """Whether there is at least one check and none failed."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def failures(self) -> tuple[VerificationResult, ...]:
        """The results that did not pass."""
        return tuple(result for result in self.results if not result.passed)

    def to_json(self) -> dict[str, object]:
        """The report as strict JSON."""
        return {
            "format": 1,
            "location": self.location,
            "passed": self.passed,
            "results": [result.to_json() for result in self.results],
        }

    def require(self) -> None:
        """Stop unless every check passed.

        Raises:
            VerificationError: one fault per failed check.
        """
        if not self.passed:
            raise VerificationError(*(_fault(result) for result in self.failures))


def _fault(result: VerificationResult) -> Fault:
    return Fault(
        reason=result.reason,
        where=f"{result.name}: {result.subject}",
        required=result.required,
        came=result.came,
        fix="Do not use this copy. Fetch the release again, or ask the publisher.",
    )


def judge(name: str, subject: str, required: object, came: object, reason: Reason) -> VerificationResult:
    """A check that two public things are equal."""
    return VerificationResult(name, subject, required == came, str(required), str(came), reason)


def passed(name: str, subject: str, required: str, reason: Reason) -> VerificationResult:
    """A check that held."""
    return VerificationResult(name, subject, True, required, "the same", reason)


def failed(name: str, subject: str, required: str, came: str, reason: Reason) -> VerificationResult:
    """A check that did not hold."""
    return VerificationResult(name, subject, False, required, came, reason)
