"""A user's script: `train.py FOLDER [resume]`, with scripted rollouts and a checkpoint every other step."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tiny_run

if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    folder, size, *rest = sys.argv[1:]
    made = tiny_run.trainer(
        folder, per_device_train_batch_size=int(size), save_strategy="steps", save_steps=2, beta=0.1, lora=True
    )
    tiny_run.script(made)
    made.train(resume_from_checkpoint="resume" in rest or None)
