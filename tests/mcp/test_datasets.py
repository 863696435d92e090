"""A dataset that is not there is answered with those that are, as far as the caller may see them (SPEC A28)."""

from __future__ import annotations

from unabridged.memory import Memory
from unabridged.server import ServerSettings, create_app


async def test_over_http_a_key_hears_of_its_own_datasets_alone(tmp_path, configured, serving, connect, refused) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from unabridged.server.keys import KeyFile

    for name in ("team-a", "team-b", "private"):
        Memory.open(str(tmp_path / "place"), dataset=name).close()
    file = KeyFile(tmp_path / "keys.json")
    _, team = file.add("team", scopes=("read",), datasets=("team-*",))
    _, nobody = file.add("nobody", scopes=("read",), datasets=("zzz",))
    app = create_app(configured(tmp_path), settings=ServerSettings(keys_file=str(file.path)))
    told = {}
    with serving(app) as address:
        for shown in (team, nobody):
            async with (
                httpx2.AsyncClient(headers={"authorization": f"Bearer {shown}"}) as http,
                connect(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
            ):
                told[shown] = [
                    await refused(client, "recall", query="x", dataset=name) for name in ("team-c", "private")
                ]
    known = "those that are: team-a, team-b"
    assert told[team] == [
        f"recall: no dataset of that name is in this place; {known}",
        f"recall: this key has no right to this dataset; {known}",
    ]
    assert all(said.endswith("; none can be named here yet") for said in told[nobody])


async def test_of_many_datasets_the_first_are_named_and_how_to_see_the_rest(tmp_path, server, connect, refused) -> None:
    for at in range(23):
        Memory.open(str(tmp_path / "place"), dataset=f"d{at:02}").close()
    async with connect(server) as client:
        said = await refused(client, "recall", query="x", dataset="nope")
    assert said.startswith("recall: no dataset 'nope' is in this place; those that are: d00, d01, d02")
    assert said.endswith("d19 and 3 more: `list` what=datasets names them")
