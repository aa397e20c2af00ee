"""Who is missing, or counts otherwise, is named before JAX connects (ACCELERATE-2)."""

from __future__ import annotations

import contextlib
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from barrow.errors import ConfigError
from barrow.launch import World, detect, meeting
from barrow.launch.meeting import meet


@pytest.fixture
def address() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"localhost:{found.getsockname()[1]}"


def outcomes(worlds: list[World], timeout: float = 60.0) -> list[str]:
    """The hosts, or the error, of processes that are threads here."""

    def outcome(world: World) -> str:
        try:
            return " ".join(meet(world, timeout=timeout))
        except ConfigError as error:
            return str(error)

    with ThreadPoolExecutor(len(worlds)) as threads:
        return list(threads.map(outcome, worlds))


def test_all_come(address: str) -> None:
    worlds = [World("Slurm", 3, n, address) for n in (2, 0, 1)]
    assert outcomes(worlds) == [" ".join([socket.gethostname()] * 3)] * 3


@pytest.mark.parametrize("kind", ["Slurm", "torchrun", "Open MPI", "PMI", "Kubernetes"])
def test_variables_of_each_kind_lead_to_one_place(kind: str) -> None:
    """Two processes with the variables that each sets; Slurm and Open MPI name no port."""
    for port in range(61440, 65536):
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("", port))
            break
    master = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    job = port - 61440
    common, rank = {
        "Slurm": (
            {"SLURM_JOB_ID": str(job), "SLURM_NTASKS": "2", "SLURM_STEP_NODELIST": "localhost"},
            "SLURM_PROCID",
        ),
        "torchrun": (master | {"WORLD_SIZE": "2"}, "RANK"),
        "Open MPI": (
            {"OMPI_COMM_WORLD_SIZE": "2"}
            | {"OMPI_MCA_orte_hnp_uri": f"{job * 4096}.0;tcp://127.0.0.1,10.0.0.9:34911"},
            "OMPI_COMM_WORLD_RANK",
        ),
        "PMI": (master | {"PMI_SIZE": "2"}, "PMI_RANK"),
        "Kubernetes": (
            {"COORDINATOR_ADDRESS": "localhost", "COORDINATOR_PORT": str(port)}
            | {"NUM_PROCESSES": "2"},
            "PROCESS_ID",
        ),
    }[kind]
    worlds = [detect(common | {rank: str(n)}) for n in range(2)]
    assert [world.by for world in worlds] == [kind] * 2
    assert outcomes(worlds) == [" ".join([socket.gethostname()] * 2)] * 2


def test_some_do_not_come(address: str) -> None:
    """All that came hear who is missing."""
    worlds = [World("Slurm", 4, n, address) for n in (0, 2)]
    missing = f"processes 1, 3 of 4 did not come to {address} in time (started by Slurm); "
    assert [words.startswith(missing) for words in outcomes(worlds, 0.5)] == [True, True]


def test_the_first_does_not_come(address: str) -> None:
    (found,) = outcomes([World("Slurm", 2, 1, address)], 0.2)
    assert found.startswith(f"process 1 of 2 could not reach the first at {address} in 0.2 s: ")
    assert "refused" in found


def test_a_world_size_that_disagrees(address: str) -> None:
    found = outcomes([World("Slurm", 2, 0, address), World("Slurm", 3, 1, address)])
    host = socket.gethostname()
    words = f"process 1 on {host} counts 3 processes, the first 2 (started by Slurm)"
    assert [one.startswith(words) for one in found] == [True, True]


def test_a_process_that_is_there_twice(address: str) -> None:
    worlds = [World("Slurm", 3, n, address) for n in (0, 1, 1)]
    found = outcomes(worlds)
    assert all("process 1 is there twice, on" in one for one in found)


def test_a_port_in_use() -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} cannot be used on .* in use; pass"):
            meet(World("torchrun", 2, 0, f"localhost:{port}"), timeout=5)


def test_strangers_are_let_go(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that says nothing, one that hangs up, one that says something else."""
    monkeypatch.setattr(meeting, "_WORDS", 0.2)
    host, port = address.split(":")
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(meet, World("Slurm", 2, 0, address), timeout=60)
        for words in (b"GET / HTTP/1.1\r\n\r\n", b"[]\n", b"", None):
            while True:
                try:
                    stranger = socket.create_connection((host, int(port)))
                    break
                except ConnectionRefusedError:  # the first does not listen yet
                    continue
            if words is None:
                break
            with stranger:
                stranger.sendall(words)
        with stranger:
            assert meet(World("Slurm", 2, 1, address), timeout=60) == first.result()
