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
        is_note: whether nothing was checked, and this says so.
    """

    name: str
    subject: str
    passed: bool
    required: str
    came: str
    reason: Reason
    is_note: bool = False

    def to_json(self) -> dict[str, str | bool]:
        """The result as strict JSON."""
        return {
            **({"note": True} if self.is_note else {}),
            "name": self.name,
            "subject": self.subject,
            "passed": self.passed,
            "required": self.required,
            "came": self.came,
            "reason": self.reason.value,
        }


@dataclass(frozen=True, slots=True)
class SignatureState:
    """What is known of who signed a release.

    Args:
        key_id: whose signature the manifest says the release carries; None when it is not signed.
        signer_checked: whether it was held against a key that the reader brought. A key inside the package proves
            nothing by itself: whoever replaces the files can replace it, too.
    """

    key_id: str | None = None
    signer_checked: bool = False

    @property
    def in_words(self) -> str:
        """One sentence for people."""
        if self.key_id is None:
            return "The release is not signed: nothing here tells who published it."
        if self.signer_checked:
            return f"Signed by the given key {self.key_id}."
        return f"Who signed was not checked: no public key was given. The signature names the key {self.key_id}."

    def to_json(self) -> dict[str, object]:
        """The state as strict JSON."""
        return {"signed": self.key_id is not None, "key_id": self.key_id, "signer_checked": self.signer_checked}


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """All results of one verification, in the order in which checks were made.

    Args:
        location: what was verified, as the caller named it.
        results: one entry a check, and notes of what could not be checked.
        signature: what is known of who signed.
    """

    location: str
    results: tuple[VerificationResult, ...]
    signature: SignatureState = SignatureState()

    @property
    def passed(self) -> bool:
        """Whether there is at least one check and none failed."""
        return bool(self.checks) and all(result.passed for result in self.checks)

    @property
    def checks(self) -> tuple[VerificationResult, ...]:
        """The results of checks, without notes."""
        return tuple(result for result in self.results if not result.is_note)

    @property
    def notes(self) -> tuple[VerificationResult, ...]:
        """What could not be checked here, and is told so that nobody takes silence for a check."""
        return tuple(result for result in self.results if result.is_note)

    @property
    def is_rehearsal(self) -> bool:
        """Whether the files say that their rows are made up."""
        return any(result.reason is Reason.REHEARSAL and not result.passed for result in self.results)

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
            "rehearsal": self.is_rehearsal,
            "signature": self.signature.to_json(),
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


def noted(name: str, subject: str, required: str, came: str, reason: Reason) -> VerificationResult:
    """A check that could not be made here; it neither holds nor fails."""
    return VerificationResult(name, subject, True, required, came, reason, is_note=True)


def failed(name: str, subject: str, required: str, came: str, reason: Reason) -> VerificationResult:
    """A check that did not hold."""
    return VerificationResult(name, subject, False, required, came, reason)
