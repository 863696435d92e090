"""docs/chat.md: every block of it runs, and says what it says."""

import json
import re
from pathlib import Path

from unabridged import load_config
from unabridged.memory.asking.asking import BUDGETS, STAGES

TEXT = (Path(__file__).parents[2] / "docs" / "chat.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)


def test_every_block_of_the_page_runs(capsys):
    names: dict = {}
    for kind, block in BLOCKS:
        if kind == "python":
            exec(compile(block, "docs/chat.md", "exec"), names)
    assert capsys.readouterr().out.splitlines() == [
        "['Alice', 'Acme'] Alice works at Acme since 2020 2020",
        "Alice works at Acme since 2020.",
        "Alice works at Acme 2020",
        "Paris. 2",
    ]


def test_the_configuration_of_the_page_loads():
    (block,) = [block for kind, block in BLOCKS if kind == "json"]
    config = load_config(json.loads(block), environ={"OPENAI_API_KEY": "k"})
    assert config.settings.chat.models.summarize_chunk == "gpt-5-nano"
    asker = config.asker(cache=False)
    assert asker.prices("summarize_chunk") == (0.05, 0.4)
    asker.close()


def test_the_table_of_stages_is_what_holds():
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| ([\d,]+|as .+) \|$", TEXT, re.MULTILINE))
    assert list(rows) == list(STAGES)
    for stage, budget in rows.items():
        assert stage == "segment" or int(budget.replace(",", "")) == BUDGETS.get(stage, 2048)
