"""Which process of how many this is, from the variables that the starting program sets."""

from __future__ import annotations

import atexit
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, NoReturn

from barrow.errors import ConfigError

_PORTS = 4096  # the last ones, of which a job's number chooses one
_HEARTBEAT = 20  # seconds without a sign of life after which a process is gone
Variables = Mapping[str, str]


@dataclass(frozen=True)
class World:
    """Process `process` of `num`, which meet at `address` (host:port; "" where there is one).

    `by` is what started it. `local` of `num_local` is its place among those of the same host, if
    that is known. `hosts` has the name of each one's host, once they have met.
    """

    by: str
    num: int = 1
    process: int = 0
    address: str = ""
    local: int | None = None
    num_local: int | None = None
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Kind:
    """A way to start processes: the variables that show it, and where the numbers are.

    `address` gives where process 0 listens. Where a variable has several names, the first counts.
    """

    name: str
    marks: tuple[str, ...]
    num: tuple[str, ...]
    process: tuple[str, ...]
    address: Callable[[Variables], str | None]
    local: tuple[str, ...] = ()
    num_local: tuple[str, ...] = ()


def _host_and_port(host: str, port: str) -> Callable[[Variables], str | None]:
    def found(variables: Variables) -> str | None:
        if host not in variables:
            return None
        name = variables[host]
        return name if port not in variables else f"{name}:{variables[port]}"

    return found


def _slurm_address(variables: Variables) -> str | None:
    """The first of node001, node001,host2, node[001-015],host2 and node[001,007-015]."""
    nodes = variables["SLURM_STEP_NODELIST"]
    match = re.match(r"([^,\[]+)(?:\[([^,\-\]]+))?", nodes)
    port = _port(variables.get("SLURM_JOB_ID", "0"))
    return None if match is None else f"{match[1]}{match[2] or ''}:{port}"


def _open_mpi_address(variables: Variables) -> str | None:
    """The host of mpirun: 1531576320.0;tcp://10.96.0.1,10.148.0.1:34911."""
    match = re.match(
        r"(\d+)\..*?;tcp6?://\[?([^,:\]]+|[^,\]]+)", variables.get("OMPI_MCA_orte_hnp_uri", "")
    )
    given = _MASTER(variables)
    return given if match is None else f"{match[2]}:{_port(str(int(match[1]) // _PORTS))}"


def _tpu_address(variables: Variables) -> str | None:
    return variables["TPU_WORKER_HOSTNAMES"].split(",")[0] + ":8476"


def _torchrun_address(variables: Variables) -> str | None:
    """Where torchrun itself listens at the port that it names, the next one."""
    found = _MASTER(variables)
    port = variables.get("MASTER_PORT", "")
    if variables.get("TORCHELASTIC_USE_AGENT_STORE") != "True" or not port.isdigit():
        return found
    return f"{variables['MASTER_ADDR']}:{int(port) + 1}"


def _port(job: str) -> int:
    return 65536 - _PORTS + (int(job) if job.isdigit() else 0) % _PORTS


_MASTER = _host_and_port("MASTER_ADDR", "MASTER_PORT")
_COORDINATOR = _host_and_port("COORDINATOR_ADDRESS", "COORDINATOR_PORT")

# The first that is found counts: the innermost program that starts processes comes first.
_KINDS = (
    _Kind(
        "barrow launch",
        ("BARROW_PROCESS",),
        ("BARROW_PROCESSES",),
        ("BARROW_PROCESS",),
        lambda variables: variables.get("BARROW_ADDRESS"),
        ("BARROW_LOCAL_PROCESS",),
        ("BARROW_LOCAL_PROCESSES",),
    ),
    _Kind(
        "torchrun",
        ("RANK", "WORLD_SIZE", "MASTER_ADDR"),
        ("WORLD_SIZE",),
        ("RANK",),
        _torchrun_address,
        ("LOCAL_RANK",),
        ("LOCAL_WORLD_SIZE",),
    ),
    _Kind(
        "Open MPI",
        ("OMPI_COMM_WORLD_RANK",),
        ("OMPI_COMM_WORLD_SIZE",),
        ("OMPI_COMM_WORLD_RANK",),
        _open_mpi_address,
        ("OMPI_COMM_WORLD_LOCAL_RANK",),
        ("OMPI_COMM_WORLD_LOCAL_SIZE",),
    ),
    _Kind(
        "Slurm",
        ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_PROCID"),
        ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        ("SLURM_PROCID",),
        _slurm_address,
        ("SLURM_LOCALID",),
    ),
    _Kind(
        "PMI",
        ("PMI_RANK",),
        ("PMI_SIZE",),
        ("PMI_RANK",),
        _MASTER,
        ("MPI_LOCALRANKID", "PMI_LOCAL_RANK"),
        ("MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"),
    ),
    _Kind(
        "TPU",
        ("TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES"),
        (),
        ("TPU_WORKER_ID",),
        _tpu_address,
    ),
    _Kind(
        "Kubernetes",
        ("PROCESS_ID", "COORDINATOR_ADDRESS"),
        ("NUM_PROCESSES",),
        ("PROCESS_ID",),
        _COORDINATOR,
    ),
)


def detect(variables: Variables | None = None) -> World:
    """What the environment says; `BARROW_SINGLE=1` says that this process is alone."""
    given = os.environ if variables is None else variables
    if given.get("BARROW_SINGLE") == "1":
        return World("BARROW_SINGLE")
    for kind in _KINDS:
        if all(name in given for name in kind.marks):
            return _world(kind, given)
    return World("nothing")


def _world(kind: _Kind, given: Variables) -> World:
    process = _number(kind, given, kind.process)
    assert process is not None
    if kind.num:
        num = _number(kind, given, kind.num)
        if num is None:
            raise ConfigError(f"{kind.name}: {kind.process[0]} is set, but not {kind.num[0]}")
    else:
        num = len(given["TPU_WORKER_HOSTNAMES"].split(","))
    if not 0 <= process < num:
        raise ConfigError(
            f"{kind.name}: {kind.process[0]}={process} must be ≥ 0 and less than the number of "
            f"processes, {num}; were the variables of another job left in the environment?"
        )
    if num == 1:
        return World(kind.name)
    address = kind.address(given)
    if address is None or not re.search(r":\d+$", address):
        raise ConfigError(
            f"{kind.name}: there are {num} processes, but no address of the first; set "
            "MASTER_ADDR and MASTER_PORT, the same in all"
        )
    local, num_local = _number(kind, given, kind.local), _number(kind, given, kind.num_local)
    return World(kind.name, num, process, address, local, num_local)


def _number(kind: _Kind, given: Variables, names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in given:
            if not given[name].isdigit():
                raise ConfigError(f"{kind.name}: {name} must be a number, got {given[name]!r}")
            return int(given[name])
    return None


def join(world: World | None = None, *, timeout: int = 300) -> World:
    """Connect with the other processes; call it before anything else that uses devices.

    Each waits up to `timeout` seconds for the others. Where several processes of a host have GPUs,
    each takes those of its place. Twice is once.
    """
    import jax

    from barrow.launch.meeting import meet
    from barrow.parallel import watch

    found = detect() if world is None else world
    if found.num == 1 or jax.distributed.is_initialized():
        return found
    settings: Any = jax.config
    settings.update("jax_cpu_collectives_implementation", "gloo")
    # A scheduler may have given each process its own GPU already.
    has_own = os.environ.get("CUDA_VISIBLE_DEVICES", ",").count(",") == 0
    shares = found.num_local != 1 and not has_own
    hosts = meet(found, timeout=timeout)
    jax.distributed.initialize(
        found.address,
        found.num,
        found.process,
        local_device_ids=None if found.local is None or not shares else [found.local],
        cluster_detection_method="deactivate",
        initialization_timeout=timeout,
        heartbeat_timeout_seconds=_HEARTBEAT,
    )
    sys.excepthook = _end
    sys.exit = _exit
    atexit.register(_leave)
    watch.begin()
    return replace(found, hosts=hosts)


# What `sys.exit` was called with last; Python keeps it from those who are called at exit.
_code: Any = None


def _exit(status: Any = None, /) -> NoReturn:
    global _code
    _code = status
    raise SystemExit(status)


def _leave() -> None:
    """Before JAX waits for the others: a process that failed does not, one that is done may."""
    from barrow.parallel import watch

    if _code is not None and _code != 0:
        _end_now(_code if isinstance(_code, int) else 1)
    watch.wait_for_all()


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error and exit at once: at its normal end a process would wait for the others."""
    sys.__excepthook__(kind, error, trace)
    _end_now(1)


def _end_now(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
