"""An object store for real: every table, lease, file and image of a memory in S3, with the store's own options."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from unabridged.errors import StoreError
from unabridged.memory import Memory

pytest.importorskip("moto", reason="the S3 server is moto's: pip install 'moto[server]'")

SERVER = """
import boto3, sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
host, port = server.get_host_and_port()
keys = {"aws_access_key_id": "id", "aws_secret_access_key": "key", "region_name": "us-east-1"}
boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys).create_bucket(Bucket="bucket")
print(port, flush=True)
sys.stdin.read()
"""
GIF = b"GIF89a" + bytes(range(64))


@pytest.fixture(scope="module")
def options():
    command = [sys.executable, "-W", "ignore", "-c", SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as server:
        port = server.stdout.readline().strip()
        yield {
            "aws_access_key_id": "id",
            "aws_secret_access_key": "key",
            "aws_region": "us-east-1",
            "endpoint": f"http://127.0.0.1:{port}",
            "allow_http": "true",
        }
        server.kill()


@pytest.fixture
def uri(request):
    return f"s3://bucket/{request.node.name}"


@pytest.fixture
def open_(options, uri):
    return lambda **how: Memory.open(uri, storage_options=options, **how)


@pytest.mark.timeout(240)
def test_r6_everything_in_an_object_store(open_, uri, options, tmp_path):
    with open_(grace=0.0) as memory:
        with memory.write() as tx:
            note = tx.artifact("Alice works at Acme", session_id="s", vector=np.ones(16, np.float32))
            alice, acme = tx.entity("Alice", "person", artifact=note), tx.entity("Acme", "company", artifact=note)
            tx.edge(alice, "works at", acme, artifact=note)
        image = memory.images.add(GIF, artifact=note, shows=[alice])
        memory.snapshot("first")
        with memory.pinned() as reader:
            memory.add("the second")
            assert len(reader.artifacts.list()) == 1
            assert memory.stats().readers == 1
        assert memory.images.read(image) == GIF
        memory.export(tmp_path / "out")
        memory.restore("first")
        assert [a.text for a in memory.artifacts.list()] == ["Alice works at Acme"]
        memory.verify().raise_if_broken()
        memory.drop_snapshot("first")
        done = memory.erase(session_id="s")
        assert done.proof.holds
        assert done.proof.files > 10
        assert done.proof.bytes > 1000
        assert memory.artifacts.counts().documents == 0
        assert memory.images.files.names() == []
        memory.verify().raise_if_broken()
    with Memory.import_(tmp_path / "out", uri, dataset="copy", storage_options=options) as copy:
        assert len(copy.artifacts.list()) == 2
        assert copy.images.read(copy.images.list().items[0]) == GIF
        copy.verify().raise_if_broken()
        files = copy.images.files
    Memory.drop(uri, "copy", storage_options=options)
    assert [each.name for each in Memory.datasets(uri, storage_options=options)] == ["default"]
    assert files.names() == []  # SPEC A28: its files went with it


@pytest.mark.timeout(240)
def test_case_42_writers_at_once_in_an_object_store(open_):
    failed = []

    def write(who):
        try:
            with open_() as memory:
                for n in range(3):
                    memory.add(f"{who} {n}")
        except StoreError as error:
            failed.append(error)

    with open_() as memory:
        threads = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert sorted(a.text for a in memory.artifacts.list()) == sorted(
            f"w{n} {k}" for n in range(3) for k in range(3)
        )
        memory.verify().raise_if_broken()


def test_a_store_that_refuses_says_what_it_was_asked(options):
    with pytest.raises(StoreError) as refused:
        Memory.open("s3://no-such-bucket/place", storage_options=options)
    assert "key" not in str(refused.value).casefold().split()
