"""A reference GRPO that reports its own compute: torch, transformers and peft live here, not in the package."""
