"""Batch jobs over HTTP: listed, read, deleted once they are over; by whoever runs the server alone."""

from __future__ import annotations

import pytest

from unabridged.jobs.state import Lock


@pytest.fixture
def done(tmp_path_factory, monkeypatch):
    """A place of two jobs that ran."""
    from unabridged.jobs.job import run_job
    from unabridged.jobs.settings import JobSettings

    place = tmp_path_factory.mktemp("jobs")
    monkeypatch.setenv("UNABRIDGED_JOBS", str(place / "kept"))
    reports = []
    for name in ("one", "two"):
        source = place / f"{name}.jsonl"
        source.write_text('{"id": "a", "text": "A text."}\n{"id": "b", "text": "Another."}\n')
        reports.append(run_job(_settings(JobSettings, source, place / f"{name}.parquet")))
    return reports


def _settings(kind, source, target):
    from unabridged.jobs.settings import EmbedderSpec, SinkSettings, SourceSettings

    embedder = EmbedderSpec("hashing", {"cache": False})
    return kind(source=SourceSettings(paths=(str(source),)), sink=SinkSettings(target=str(target)), embedder=embedder)


def test_jobs_are_listed_read_and_deleted(client, done) -> None:
    page = client.get("/v1/gb/jobs", params={"limit": 1}).json()
    rest = client.get("/v1/gb/jobs", params={"limit": 1, "cursor": page["cursor"]}).json()
    assert {each["id"] for each in (*page["items"], *rest["items"])} == {report.id for report in done}
    assert rest["cursor"] is None
    one = client.get(f"/v1/gb/jobs/{done[0].id}").json()
    assert one["counts"]["done"] == 2
    assert one["status"] == "done"
    assert not one["running"]
    assert "folder" not in one
    lock = Lock(_folder(done[0]))
    busy = client.delete(f"/v1/gb/jobs/{done[0].id}")
    lock.release()
    assert busy.status_code == 409
    assert client.delete(f"/v1/gb/jobs/{done[0].id}").json() == {"deleted": [done[0].id]}
    assert client.get(f"/v1/gb/jobs/{done[0].id}").status_code == 404
    assert [each["id"] for each in client.get("/v1/gb/jobs").json()["items"]] == [done[1].id]


def _folder(report):
    from pathlib import Path

    return Path(report.folder)


@pytest.mark.parametrize("job", ["..", "%2e%2e", "..%2Fkept", ".hidden", "a" * 300, "no%00pe", "x y"])
def test_an_id_names_a_job_and_no_other_folder(client, done, job) -> None:
    for method in (client.get, client.delete):
        assert method(f"/v1/gb/jobs/{job}").status_code in {404, 405}


def test_a_cursor_that_no_listing_gave_is_400(client, done) -> None:
    assert client.get("/v1/gb/jobs", params={"cursor": "no"}).status_code == 400
