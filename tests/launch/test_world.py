"""Who started a process, by the variables of the starting programs (ACCELERATE-2)."""

from __future__ import annotations

import pytest

from barrow.errors import ConfigError
from barrow.launch import World, detect

SLURM = {"SLURM_JOB_ID": "4100", "SLURM_NTASKS": "8", "SLURM_PROCID": "5", "SLURM_LOCALID": "1"}


@pytest.mark.parametrize(
    ("variables", "world"),
    [
        ({}, World("nothing")),
        ({"SLURM_JOB_ID": "1", "SLURM_NTASKS": "8"}, World("nothing")),  # a batch script itself
        (
            {"RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"}
            | {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"},
            World("torchrun", 4, 2, "n1:29500", 0, 2),
        ),
        # Where its own store listens at MASTER_PORT, as the real one says, JAX takes the next.
        (
            {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"}
            | {"TORCHELASTIC_USE_AGENT_STORE": "True"},
            World("torchrun", 2, 1, "n1:29501"),
        ),
        (
            SLURM | {"SLURM_STEP_NODELIST": "node[007,010-012],other3"},
            World("Slurm", 8, 5, "node007:61444", 1),
        ),
        (SLURM | {"SLURM_STEP_NODELIST": "gpu-a"}, World("Slurm", 8, 5, "gpu-a:61444", 1)),
        (SLURM | {"SLURM_STEP_NODELIST": "a1,a2"}, World("Slurm", 8, 5, "a1:61444", 1)),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
            | {"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"},
            World("Open MPI", 2, 1, "10.96.0.1:62624"),
        ),
        (
            {"PMI_RANK": "0", "PMI_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "5"},
            World("PMI", 2, 0, "h:5"),
        ),
        (
            {"TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": "t0,t1"},
            World("TPU", 2, 1, "t0:8476"),
        ),
        (
            {"PROCESS_ID": "0", "NUM_PROCESSES": "3", "COORDINATOR_ADDRESS": "job-0.svc"}
            | {"COORDINATOR_PORT": "6666"},
            World("Kubernetes", 3, 0, "job-0.svc:6666"),
        ),
        # Inside a job of Slurm's, barrow launch counts; alone is alone.
        (
            SLURM
            | {"SLURM_STEP_NODELIST": "a", "BARROW_PROCESS": "1", "BARROW_PROCESSES": "2"}
            | {"BARROW_ADDRESS": "127.0.0.1:9"},
            World("barrow launch", 2, 1, "127.0.0.1:9"),
        ),
        ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "h"}, World("torchrun")),
        (SLURM | {"SLURM_STEP_NODELIST": "a", "BARROW_SINGLE": "1"}, World("BARROW_SINGLE")),
    ],
)
def test_variables(variables: dict[str, str], world: World) -> None:
    assert detect(variables) == world


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        (
            {"RANK": "4", "WORLD_SIZE": "4", "MASTER_ADDR": "h", "MASTER_PORT": "1"},
            "torchrun: RANK=4 must be ≥ 0 and less than the number of processes, 4",
        ),
        (
            {"RANK": "x", "WORLD_SIZE": "4", "MASTER_ADDR": "h"},
            "torchrun: RANK must be a number, got 'x'",
        ),
        ({"PMI_RANK": "0"}, "PMI: PMI_RANK is set, but not PMI_SIZE"),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "2 processes, but no address of the first"),
    ],
)
def test_variables_that_contradict(variables: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        detect(variables)
