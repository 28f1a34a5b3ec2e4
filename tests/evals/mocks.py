# ruff: noqa: A002, ARG002, B008, PLR0917 - Inspect calls by these names
"""A mock model for tests: it waits, calls tools when asked to, and names its token usage.

Works with every Inspect from 0.3.246 on; without a usage Inspect would fetch a tokenizer.
"""

from collections.abc import Callable
from typing import Any

import anyio
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    get_model,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

Answer = Callable[[list[ChatMessage]], ModelOutput]


class MockApi(ModelAPI):
    """Answers after `seconds`, what `answer` makes of the conversation."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),
        seconds: float = 0.0,
        answer: Answer | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self.seconds = seconds
        self.answer = answer

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        await anyio.sleep(self.seconds)
        made = self.answer(input) if self.answer is not None else None
        output = made or ModelOutput.from_content(self.model_name, "yes")
        output.usage = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
        return output

    def max_connections(self) -> int:
        return 64


@modelapi(name="mock")
def mock() -> type[ModelAPI]:
    return MockApi


def mock_model(name: str, seconds: float = 0.0, answer: Answer | None = None) -> Model:
    """Return the model `mock/NAME`."""
    return get_model(f"mock/{name}", memoize=False, seconds=seconds, answer=answer)
