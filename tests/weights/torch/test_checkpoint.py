"""FLAX-8: PyTorch's own files, read without it; the code inside is not run, evil is refused."""

from __future__ import annotations

import collections
import contextlib
import io
import os
import pickle
import subprocess
import sys
import tarfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import WeightsError
from barrow.weights import LazyTensor, open_torch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 4, 2)
        self.blocks = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
        self.register_buffer("position", torch.arange(5))
        self.scale = torch.nn.Parameter(torch.tensor(2.0))
        self.sizes = [1, 2]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks(self.conv1(x).mean((2, 3))) * self.scale


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    wide = tensor.detach()
    return (wide.float() if wide.dtype == torch.bfloat16 else wide).numpy()


def test_a_state_dict(tmp_path: Path) -> None:
    net = Net()
    torch.save(net.state_dict(), tmp_path / "x.pt")
    found = open_torch(tmp_path / "x.pt")
    assert not found.is_script
    assert list(found.tensors) == list(net.state_dict())
    for name, tensor in net.state_dict().items():
        np.testing.assert_array_equal(found.tensors[name], as_numpy(tensor), strict=True)
        assert found.tensors.entry(name).shape == tuple(tensor.shape)
    assert not found.tensors["conv1.weight"].flags.owndata


def test_every_shape_of_storage(tmp_path: Path) -> None:
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    state = {
        "base": base,
        "tied": base,
        "turned": base.t(),
        "strided": base[1::2, ::3],
        "row": base[2],
        "expanded": torch.ones(1).expand(5, 7),
        "scalar": torch.tensor(3.5, dtype=torch.float64),
        "empty": torch.zeros(0, 3),
        "brain": torch.tensor([1.5, -2.0]).bfloat16(),
        "half": torch.tensor([1.5]).half(),
        "bytes": torch.arange(-3, 3, dtype=torch.int8),
        "bool": torch.tensor([True, False]),
        "complex": torch.tensor([1 + 2j]),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "unsigned": torch.tensor([1, 65535], dtype=torch.uint16),
    }
    torch.save(state, tmp_path / "x.pt")
    tensors = open_torch(tmp_path / "x.pt").tensors
    for name, tensor in state.items():
        found = tensors[name]
        expected = as_numpy(tensor)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.astype(expected.dtype), expected)
    assert tensors["brain"].dtype == "bfloat16"
    assert np.shares_memory(tensors["base"], tensors["turned"])


def test_what_is_not_a_tensor(tmp_path: Path) -> None:
    values = {
        "epoch": 3,
        "loss": 0.5,
        "name": "x",
        "size": torch.Size([1, 2]),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
        "nested": {"list": [torch.ones(2), (torch.zeros(1), None)]},
        "ordered": collections.OrderedDict(a=1),
        "array": np.arange(3),
        "number": np.float32(2.5),
        7: torch.ones(1),
    }
    torch.save(values, tmp_path / "x.pt")
    found = open_torch(tmp_path / "x.pt")
    assert found.values["epoch"] == 3
    assert found.values["size"] == (1, 2)
    assert found.values["dtype"] == "float16"
    assert found.values["device"] == "cpu"
    assert found.values["ordered"] == {"a": 1}
    assert isinstance(found.values["nested"]["list"][0], LazyTensor)
    names = ["nested.list.0", "nested.list.1.0", "array", "number", "7"]
    assert list(found.tensors) == names
    assert found.tensors["array"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("how", ["script", "trace"])
def test_torchscript(tmp_path: Path, how: str) -> None:
    """CLIP-6: OpenAI's weights are TorchScript archives."""
    net = Net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = (
            torch.jit.script(net)
            if how == "script"
            else torch.jit.trace(net, torch.ones(1, 3, 4, 4))
        )
        made.save(tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        assert any("/code/" in name for name in archive.namelist())
    found = open_torch(tmp_path / "x.pt")
    assert found.is_script
    assert set(found.tensors) == set(net.state_dict())
    for name, tensor in net.state_dict().items():
        np.testing.assert_array_equal(found.tensors[name], as_numpy(tensor))


def test_pytorch_is_not_needed(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(3)}, tmp_path / "x.pt")
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from barrow.weights import open_torch\n"
        f"print(open_torch({str(tmp_path / 'x.pt')!r}).tensors['a'].sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "3.0\n"


class Evil:
    def __init__(self, call: Any, *arguments: Any) -> None:
        self.reduced = (call, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


@pytest.mark.parametrize("protocol", [2, 4])
def test_evil_is_refused_and_does_not_run(tmp_path: Path, protocol: int) -> None:
    made = tmp_path / "made"
    evils = [
        Evil(os.system, f"touch {made}"),
        Evil(eval, f"open({str(made)!r}, 'w')"),
        Evil(getattr, "x", "upper"),
        Evil(torch.load, str(made)),
        Evil(torch.hub.load, "a", "b"),
        Evil(pickle.loads, b"x"),
        Evil(np.load, str(made)),
    ]
    for number, evil in enumerate(evils):
        path = tmp_path / f"{number}.pt"
        torch.save({"a": torch.ones(1), "evil": evil}, path, pickle_protocol=protocol)
        with pytest.raises(WeightsError, match="the pickle names .*, which is not allowed"):
            open_torch(path)
    assert not made.exists()


def test_objects_are_refused_by_name(tmp_path: Path) -> None:
    torch.save(Net(), tmp_path / "x.pt")
    with pytest.raises(WeightsError, match=r"the pickle names .*Net, which is not allowed"):
        open_torch(tmp_path / "x.pt")
    torch.save(torch.ones(3).to_sparse(), tmp_path / "y.pt")
    with pytest.raises(WeightsError, match="names torch._utils._rebuild_sparse_tensor"):
        open_torch(tmp_path / "y.pt")


def rewritten(path: Path, **changes: bytes | None) -> Path:
    """An archive with some entries replaced or left out, the name's slashes as two underscores."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    root = next(iter(entries)).split("/")[0]
    for name, data in changes.items():
        entries.pop(f"{root}/{name.replace('__', '/').replace('_pkl', '.pkl')}", None)
        if data is not None:
            entries[f"{root}/{name.replace('__', '/').replace('_pkl', '.pkl')}"] = data
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    torch.save({"a": torch.arange(6.0)}, tmp_path / "x.pt")
    return tmp_path / "x.pt"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data__0": b"1234"}, "storage '0' should have 6 × 4 bytes, found 4"),
        ({"data__0": None}, "no entry 'x/data/0'"),
        ({"data_pkl": None}, "expected one NAME/data.pkl in the archive, found 0"),
        ({"data_pkl": b"."}, "the pickle leaves 0 objects"),
        ({"data_pkl": b""}, "not a readable pickle"),
        ({"byteorder": b"big"}, "expected byte order 'little', found b'big'"),
        ({"data_pkl": b"ctorch\nFloatStorage\n."}, "a storagekind outside a tensor"),
        ({"data_pkl": b"ccollections\nOrderedDict\n."}, "a global outside a tensor"),
        ({"data_pkl": b"]" * 300 + b"a" * 299 + b"."}, "nested more than 100 deep"),
        ({"data_pkl": b"]q\0h\0a."}, "nested more than 100 deep"),
        (
            {
                "data_pkl": b"]q\0"
                + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(60))
                + b"]h\x3ca."
            },
            "not a pickle|leaves|nested|more than",
        ),
    ],
)
def test_archives_that_lie(saved: Path, changes: dict[str, bytes | None], words: str) -> None:
    with pytest.raises(WeightsError, match=words):
        open_torch(rewritten(saved, **changes))


def test_a_pickle_that_unfolds_without_end(saved: Path) -> None:
    # Each list holds the one before twice: 2^40 values in 400 bytes.
    program = b"]q\0" + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(40))
    program = b"(" + program + b"l."
    with pytest.raises(WeightsError, match="more than 500,000 values"):
        open_torch(rewritten(saved, data_pkl=program))


def test_two_tensors_of_one_path(tmp_path: Path) -> None:
    torch.save({"a": {"b": torch.ones(1)}, "a.b": torch.ones(1)}, tmp_path / "x.pt")
    with pytest.raises(WeightsError, match="two tensors have the path 'a.b'"):
        open_torch(tmp_path / "x.pt")


def test_changed_elements_are_found_when_they_are_read(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[data.index(np.arange(6, dtype="<f4").tobytes()) + 6] ^= 1
    saved.write_bytes(data)
    found = open_torch(saved)
    with pytest.raises(WeightsError, match="the file was changed"):
        found.tensors["a"]


def test_other_kinds_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x"
    torch.save({"a": torch.ones(1)}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(
        WeightsError, match="found PyTorch's format from before 1.6; if you trust the file"
    ):
        open_torch(path)
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("storages"), io.BytesIO(b""))
    with pytest.raises(WeightsError, match="found a tar archive, PyTorch's first format"):
        open_torch(path)
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(WeightsError, match="found a bare pickle"):
        open_torch(path)
    path.write_bytes(b"what?")
    with pytest.raises(WeightsError, match="found b'what'"):
        open_torch(path)


@settings(max_examples=100)
@given(data=st.data())
def test_cut_and_flipped(saved: Path, data: st.DataObject) -> None:
    good = saved.read_bytes()
    bad = bytearray(good[: data.draw(st.sampled_from([len(good)] * 3 + [len(good) // 2, 9]))])
    for _ in range(data.draw(st.integers(0, 5))):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    path = saved.with_name("bad.pt")
    path.write_bytes(bad)
    with contextlib.suppress(WeightsError):
        found = open_torch(path)
        for name in found.tensors:
            assert found.tensors[name].shape == found.tensors.entry(name).shape
