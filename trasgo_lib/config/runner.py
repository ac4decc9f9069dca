"""What draws: threads of the run, or Dask workers; it changes where work is done and nothing of what comes out."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Discriminator, Field, Tag, model_validator

from trasgo_lib.config.shape import Model, PlaceText, shape_error
from trasgo_lib.errors import ConfigError, Reason

_SCHEMES = ("tls", "tcp")


class DaskSpec(Model):
    """Dask workers: processes on this machine, or those of a scheduler of the office's own."""

    workers: int | None = Field(
        default=None, ge=1, le=1024, description="processes on this machine; default: one a core", examples=[4]
    )
    address: PlaceText | None = Field(
        default=None,
        description="address of a scheduler that runs already",
        examples=["tls://dask.office.example:8786"],
    )
    address_env: PlaceText | None = Field(
        default=None,
        description="environment variable that holds this address, where it differs by machine",
        examples=["TRASGO_DASK"],
    )
    shared_disk: bool | None = Field(
        default=None,
        description="whether that scheduler's workers see the folders of this machine; needed with an address",
        examples=[False],
    )
    allow_tcp: bool = Field(
        default=False, description="whether a scheduler on another machine may be reached without TLS", examples=[True]
    )
    wait_s: int = Field(
        default=120,
        ge=1,
        le=86400,
        description="how long a run waits while there is no worker at all before it ends with exit 10, s",
        examples=[600],
    )

    @property
    def is_local(self) -> bool:
        """Whether the run starts its own workers, on this machine."""
        return self.address is None and self.address_env is None

    @model_validator(mode="after")
    def _one_cluster(self) -> DaskSpec:
        named = [name for name in ("workers", "address", "address_env") if getattr(self, name) is not None]
        if len(named) > 1:
            raise shape_error("at most one of workers, address, address_env", " and ".join(named), "Keep one of them.")
        if self.is_local:
            for name in ("shared_disk", "allow_tcp"):
                if name in self.model_fields_set:
                    fix = f"Remove `{name}`, or name a scheduler."
                    raise shape_error(f"{name} only beside an address", "workers of this machine", fix, at=(name,))
        elif self.shared_disk is None:
            fix = "Write `shared_disk: true` or `shared_disk: false`."
            raise shape_error("whether its workers see the folders of this machine", "nothing", fix)
        return self


class RunnerSpec(Model):
    """A runner with settings."""

    dask: DaskSpec = Field(description="how many workers, or whose", examples=[{"workers": 4}])


def _kind(value: object) -> str:
    return "?settings" if isinstance(value, (dict, RunnerSpec)) else "?name"


Runner = Annotated[
    Annotated[Literal["threads", "dask"], Tag("?name")] | Annotated[RunnerSpec, Tag("?settings")], Discriminator(_kind)
]


def dask_of(runner: Literal["threads", "dask"] | RunnerSpec) -> DaskSpec | None:
    """The Dask settings of a runner; None for threads."""
    if isinstance(runner, RunnerSpec):
        return runner.dask
    return DaskSpec() if runner == "dask" else None


@dataclass(frozen=True, slots=True)
class DaskAddress:
    """A scheduler.

    Args:
        scheme: ``tls`` or ``tcp``.
        host: its name or number.
        port: its port.
    """

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine, reached by no network."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def dask_address(text: str, *, allow_tcp: bool = False) -> DaskAddress:
    """What the address of a scheduler names.

    Args:
        text: ``tls://host:port``, or ``tcp://host:port`` on this machine or where allowed.
        allow_tcp: whether plain ``tcp`` may leave this machine: whoever reaches that port can have workers do anything.

    Raises:
        ConfigError: for anything else; the text is not shown, since people put secrets in addresses.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    bare = host is not None and "@" not in parts.netloc and not (parts.path or parts.query or parts.fragment)
    if host is None or port is None or not bare or parts.scheme not in _SCHEMES:
        raise _bad("tls://host:port, or tcp://host:port on this machine", "something else", "Correct the address.")
    address = DaskAddress(parts.scheme, host, port)
    if address.scheme == "tcp" and not allow_tcp and not address.is_loopback:
        fix = "Use tls, or declare allow_tcp: true for a network in which you trust everyone with the wrapping key."
        raise _bad("tls, or tcp on this machine", "tcp to another machine", fix)
    return address


def _bad(required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, "address", required=required, came=came, fix=fix)
