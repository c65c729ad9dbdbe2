"""Meters for training stacks: `transformers` for any loop over Hugging Face models, `trl` for GRPOTrainer.

Only modules of this package import torch; the rest of `race_report` runs without it.
"""
