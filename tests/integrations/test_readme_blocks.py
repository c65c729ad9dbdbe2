"""The blocks of README.md that need the training stack, run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from test_runs import environment
from tiny_run import config, tokenizer
from transformers import AutoModelForCausalLM

from race_report.validation import validate_file

ROOT = Path(__file__).parents[2]


def test_the_blocks_give_reports_of_level_three(tmp_path: Path) -> None:
    """A tiny model lies where the hub's would be found."""
    blocks = re.findall(r"^```py\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    name = "Qwen/Qwen2.5-0.5B-Instruct"
    assert all(name in block for block in blocks)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config()).save_pretrained(tmp_path / name)
    tokenizer().save_pretrained(tmp_path / name)
    save = "\nimport json; open('loop.json', 'w').write(json.dumps(report))\n"
    for block, more in zip(blocks, ("", save), strict=True):
        done = subprocess.run(
            [sys.executable, "-c", block + more],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    for path in (tmp_path / "run" / "race" / "report.json", tmp_path / "loop.json"):
        result = validate_file(str(path))
        assert not result.errors
        assert result.level is not None
        assert result.level.number == 3, result.level.lacking
