"""Decoders of the config of a task or process, and of the throughput of models."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import cast

from core.ctl.decode import (
    JsonObject,
    count,
    flag,
    inner,
    number,
    objects,
    parse_object,
    text,
    texts,
)
from core.errors import AnswerMalformed
from core.model.knobs import (
    BufferView,
    ConfigView,
    LimitView,
    ModelThroughput,
    Throughput,
)


def config_view(body: bytes) -> ConfigView:
    """Decode `GET /tasks/K/config` or `GET /config`.

    Raises:
        AnswerMalformed: It is not an object.
    """
    row = parse_object(body)
    buffer = row.get("buffer")
    return ConfigView(
        max_samples=_own_limit(row, "max_samples"),
        max_tasks=_own_limit(row, "max_tasks"),
        max_subprocesses=_own_limit(row, "max_subprocesses"),
        sandboxes=_named(objects(row, "max_sandboxes"), "type"),
        connections=_named(objects(row, "adaptive"), "name"),
        keys=_named(objects(row, "concurrency"), "name")
        if isinstance(row.get("concurrency"), list)
        else None,
        retry=_whole_numbers(inner(row, "retry")),
        limits=_whole_numbers(inner(row, "limits")),
        buffer=_buffer(cast("JsonObject", buffer)) if isinstance(buffer, dict) else None,
        warnings=texts(row, "warnings"),
    )


def _own_limit(row: JsonObject, name: str) -> LimitView | None:
    return _limit(inner(row, name), "") if isinstance(row.get(name), dict) else None


def _named(rows: Iterable[JsonObject], name: str) -> tuple[LimitView, ...]:
    return tuple(_limit(row, text(row, name) or text(row, "name") or "") for row in rows)


def _limit(row: JsonObject, name: str) -> LimitView:
    return LimitView(
        name=name,
        limit=count(row, "limit"),
        in_use=count(row, "in_use"),
        minimum=count(row, "min"),
        maximum=count(row, "max"),
        adjustable=flag(row, "adjustable"),
        tracks_adaptive=flag(row, "tracks_adaptive"),
        override=count(row, "override"),
        launch=count(row, "launch"),
        in_flight=count(row, "in_flight"),
        pending=count(row, "pending"),
    )


def _whole_numbers(row: JsonObject) -> Mapping[str, int | None]:
    return MappingProxyType({name: count(row, name) for name in row})


def _buffer(row: JsonObject) -> BufferView:
    return BufferView(
        log_buffer=count(row, "log_buffer"),
        pending=count(row, "pending"),
        log_shared=count(row, "log_shared"),
    )


def throughput(body: bytes) -> Throughput:
    """Decode `GET /models/throughput`; a model without a name is left out.

    Raises:
        AnswerMalformed: It has no list of models.
    """
    row = parse_object(body)
    if not isinstance(row.get("models"), list):
        raise AnswerMalformed("the answer has no list of models")
    models = tuple(
        _model(name, model)
        for model in objects(row, "models")
        if (name := text(model, "model")) is not None
    )
    return Throughput(models=models)


def _model(name: str, row: JsonObject) -> ModelThroughput:
    return ModelThroughput(
        model=name,
        output_tokens_per_minute=number(row, "output_tokens_per_minute"),
        input_tokens_per_minute=number(row, "input_tokens_per_minute"),
        requests_per_minute=number(row, "requests_per_minute"),
        retries_per_minute=number(row, "retries_per_minute"),
        backoff_ratio=number(row, "backoff_ratio"),
        retry_waits_active=count(row, "retry_waits_active"),
    )
