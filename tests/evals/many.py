"""Hundreds of samples: more than the channel lists at once."""

import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

sys.path.insert(0, str(Path(__file__).parent))
from mocks import mock_model


@task
def many(samples: int = 130, think: float = 0.05, at_once: int = 20) -> Task:
    rows = [Sample(input=f"say yes ({n})", target="yes") for n in range(samples)]
    return Task(
        dataset=MemoryDataset(rows, name="many"),
        solver=generate(),
        scorer=includes(),
        model=mock_model("crowd", think),
        config=GenerateConfig(max_connections=at_once),
    )
