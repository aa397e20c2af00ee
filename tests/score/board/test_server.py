from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interrupted import dropped
from tests.score.board.made_results import result, write

from barrow.errors import NotFound
from barrow.interrupt import remembered
from barrow.score.board import server
from barrow.score.board.gather import read_file
from barrow.score.board.server import Watched, board_server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "results", {"one": result("one", 1.0)})


@pytest.fixture
def port(folder: Path) -> Iterator[int]:
    with board_server([folder]) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield int(serving.server_address[1])
        serving.shutdown()
        thread.join()


def ask(port: int, path: str, method: str = "GET", **headers: str):  # type: ignore[no-untyped-def]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def test_it_answers_three_addresses(port: int, folder: Path) -> None:
    answer, body = ask(port, "/")
    assert answer.status == 200
    assert 'data-live="2"' in body
    assert "connect-src 'self'" in answer.getheader("Content-Security-Policy")
    assert answer.getheader("Cache-Control") == "no-store"
    data = json.loads(ask(port, "/board.json?x")[1])
    assert [one["name"] for one in data["results"]] == ["one"]
    assert ask(port, "/version")[1] == data["version"]
    write(folder, {"two": result("two", 2.0)})
    version = ask(port, "/version")[1]
    assert version != data["version"]
    after = json.loads(ask(port, "/board.json")[1])
    assert after["version"] == version
    assert len(after["results"]) == 2


def test_everything_else_is_refused(port: int, folder: Path) -> None:
    for path in ("/one.json", "/../results/one.json", "/results/", "/favicon.ico"):
        assert ask(port, path)[0].status == 404
    assert ask(port, "/", "POST")[0].status == 501
    assert ask(port, "/", "HEAD")[1] == ""
    # Under any other name it might be a page of somebody else that asks.
    answer, body = ask(port, "/board.json", Host="evil.example")
    assert (answer.status, body) == (403, "Host must be a name of this server, got evil.example\n")
    answer, body = ask(port, "/board.json", Origin="http://evil.example")
    assert (answer.status, body) == (403, "Origin must be this server, got http://evil.example\n")
    own = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert ask(port, "/board.json", **own)[0].status == 200


def test_only_this_machine_is_answered(folder: Path) -> None:
    with board_server([folder]) as serving:
        assert serving.server_address[0] == "127.0.0.1"


def test_it_ends_by_a_ctrl_c_that_was_dropped(folder: Path) -> None:
    with board_server([folder]) as serving, pytest.raises(KeyboardInterrupt), remembered():
        serving.service_actions()
        dropped()
        serving.service_actions()  # which `serve_forever` calls twice a second
        pytest.fail("it goes on")


def test_bad_ports_and_paths(folder: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {number} of 127.0.0.1 cannot be used"):
            board_server([folder], port=number)
    with pytest.raises(ValueError, match="port must be from 0 to 65535, got 70000"):
        board_server([folder], port=70000)
    with pytest.raises(NotFound, match="nowhere does not exist"):
        board_server([tmp_path / "nowhere"])


def test_each_file_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(path: Path) -> object:
        read.append(path.name)
        return read_file(path)

    monkeypatch.setattr(server, "read_file", counted)
    watched = Watched([folder])
    watched.data()
    write(folder, {"two": result("two", 2.0)})
    assert len(watched.data()["results"]) == 2
    write(folder, {"one": result("one", 3.0)})
    assert max(one["overall"]["bpb"] for one in watched.data()["results"]) == pytest.approx(3)
    assert read == ["one.json", "two.json", "one.json"]


def test_files_that_come_change_and_go(folder: Path) -> None:
    watched = Watched([folder, folder / "one.json"])
    first = watched.data()
    assert watched.data() is first  # nothing was read again
    os.utime(folder / "one.json", ns=(1, 1))
    again = watched.data()
    assert again is not first
    assert again["version"] == first["version"]
    (folder / "two.json").write_text('{"format": "barrow-score-1"')  # half of it so far
    assert [one["file"] for one in watched.data()["left_out"]] == ["two.json"]
    write(folder, {"two": result("two", 2.0)})
    assert watched.data()["left_out"] == []
    assert len(watched.data()["results"]) == 2
    (folder / "one.json").unlink()
    gone = watched.data()
    assert [one["name"] for one in gone["results"]] == ["two"]
    assert gone["left_out"] == [{"file": "one.json", "reason": "is gone"}]
