"""Object stores for real: every table, lease, file and image of a memory in S3 and Azure, with the stores' own options.

S3 is moto's server (``pip install 'moto[server]'``), Azure is Azurite (``npm install -g azurite``); what is not there
is skipped.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from unabridged.errors import StoreError
from unabridged.memory import Memory

SERVER = """
import boto3, sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
host, port = server.get_host_and_port()
keys = {"aws_access_key_id": "id", "aws_secret_access_key": "key", "region_name": "us-east-1"}
boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys).create_bucket(Bucket="bucket")
print(f"http://127.0.0.1:{port}", flush=True)
sys.stdin.read()
"""
MOTO = [sys.executable, "-W", "ignore", "-c", SERVER]
AZURITE = ["azurite-blob", "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck", "--silent"]
ACCOUNT = "devstoreaccount1"  # Azurite's own, and its well-known key
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
GIF = b"GIF89a" + bytes(range(64))


def serve(command):
    """A server, and the address that it tells."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, text=True, **pipes)
    for line in server.stdout:
        if found := re.search(r"http://127\.0\.0\.1:[1-9]\d*", line):
            return server, found[0]
    raise AssertionError(f"{command[0]} did not start")


def s3(at):
    keys = {"aws_access_key_id": "id", "aws_secret_access_key": "key", "aws_region": "us-east-1"}
    return "s3://bucket", {**keys, "endpoint": at, "allow_http": "true"}


def azure(at):
    from pyarrow import fs

    there = {f"{kind}_storage_{part}": each for kind in ("blob", "dfs") for part, each in _parts(at).items()}
    fs.AzureFileSystem(account_name=ACCOUNT, account_key=KEY, **there).create_dir("container")
    options = {"account_name": ACCOUNT, "account_key": KEY, "endpoint": f"{at}/{ACCOUNT}", "allow_http": "true"}
    return "az://container", options


def _parts(at):
    scheme, _, authority = at.partition("://")
    return {"scheme": scheme, "authority": authority}


STORES = {
    "s3": (MOTO, s3, importlib.util.find_spec("moto")),
    "azure": (AZURITE, azure, shutil.which("azurite-blob")),
}


@pytest.fixture(scope="module", params=STORES)
def store(request):
    command, begin, there = STORES[request.param]
    if not there:
        pytest.skip(f"no server for {request.param}")
    server, at = serve(command)
    with server:
        yield begin(at)
        server.kill()


@pytest.fixture
def options(store):
    return store[1]


@pytest.fixture
def uri(store, request):
    return f"{store[0]}/{request.node.originalname}"


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


def test_a_store_that_refuses_says_what_it_was_asked(uri, options):
    with pytest.raises(StoreError) as refused:
        Memory.open(f"{uri.partition('://')[0]}://no-such-bucket/place", storage_options=options)
    assert "key" not in str(refused.value).casefold().split()
