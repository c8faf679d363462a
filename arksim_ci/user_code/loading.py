"""Load the user's Python files and find the metric and agent classes in them. Runs in the worker process: standard library only."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arksim_ci.user_code.agent_classes import BaseAgent
from arksim_ci.user_code.metric_classes import QualitativeMetric, QuantitativeMetric

OUR_FOLDER = str(Path(__file__).parent)

_loaded: dict[str, types.ModuleType] = {}


class NotLoadable(Exception):
    """A file, or a class in it, can't be used. `line` counts from 1, where it is known; `trace` is for the log."""

    def __init__(self, message: str, file: str, line: int | None = None, trace: str = "") -> None:
        super().__init__(message)
        self.message, self.file, self.line, self.trace = message, file, line, trace


def load_module(path: str) -> types.ModuleType:
    """Load a file, once however often it is asked for; its own folder becomes importable.

    `path` ends in `.py`, or is a dotted name of a module.

    Raises:
        NotLoadable: it is not there, or running it raised something.
    """
    if not path.endswith(".py") and "/" not in path:
        imported: types.ModuleType = _guarded(lambda: importlib.import_module(path), path)
        return imported
    file = Path(path).resolve()
    if str(file) in _loaded:
        return _loaded[str(file)]
    if file.suffix != ".py":
        raise NotLoadable("this is no Python file; its name must end in .py", path)
    if not file.is_file():
        raise NotLoadable("there is no such file", path)
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    # A name of its own: two files may have the same stem, and neither may hide a package that the user imports.
    name = f"_user_{len(_loaded)}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise NotLoadable("Python can't load this file", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader
    try:
        _guarded(lambda: loader.exec_module(module), path)
    except NotLoadable:
        del sys.modules[name]
        raise
    _loaded[str(file)] = module
    return module


def _guarded(load: Callable[[], Any], path: str) -> Any:
    try:
        return load()
    except BaseException as error:
        raise NotLoadable(_advice(error), path, _line_in(error, path), short_trace(error)) from None


def _advice(error: BaseException) -> str:
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return cause_of(error)
    top = error.name.partition(".")[0]
    if top == "arksim":
        return f"{error.name} is not among the names of ArkSim that are provided inside a run"
    return (
        f"the package {top!r} is not installed for {sys.executable}: list it in a file and name that file in the action's `requirements` input, "
        f"or install it for that Python"
    )


def _line_in(error: BaseException, path: str) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno
    file = str(Path(path).resolve())
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return lines[-1] if lines else None


def cause_of(error: BaseException) -> str:
    """One short line: the exception's name and the first line of its text."""
    try:
        text = str(error).strip().splitlines()
    except BaseException:  # a hostile __str__
        text = []
    name = type(error).__name__
    return f"{name}: {text[0][:300]}" if text else name


def short_trace(error: BaseException) -> str:
    """The traceback from the user's first frame on, without ours; at most 20,000 characters."""
    try:
        described = traceback.TracebackException.from_exception(error, limit=-40)
        part: traceback.TracebackException | None = described
        while part is not None:
            kept = [frame for frame in part.stack if not frame.filename.startswith((OUR_FOLDER, "<frozen importlib"))]
            part.stack[:] = kept
            part = part.__cause__ or part.__context__
        return "".join(described.format())[-20_000:]
    except BaseException:
        return cause_of(error)


def make_metrics(path: str, llm: Any) -> list[Any]:
    """Load a metric file and make one instance of each public metric class in it.

    These are the classes that the file defines; where it defines none, those that it imports.

    Raises:
        NotLoadable: no metric class, one that can't be made, or one with a name, scope or range that can't be used.
    """
    module = load_module(path)
    found = [
        item
        for name, item in vars(module).items()
        if inspect.isclass(item)
        and issubclass(item, (QuantitativeMetric, QualitativeMetric))
        and item not in (QuantitativeMetric, QualitativeMetric)
        and not name.startswith("_")
        and not item.__name__.startswith("_")
    ]
    own = [item for item in found if item.__module__ == module.__name__]
    classes = list(dict.fromkeys(own or found))
    usable = [item for item in classes if not inspect.isabstract(item)]
    if not usable and classes:
        lacking = ", ".join(f"{item.__name__} lacks {'/'.join(sorted(item.__abstractmethods__))}()" for item in classes)
        raise NotLoadable(f"no metric class is complete: {lacking}", path)
    if not usable:
        raise NotLoadable("no public subclass of QuantitativeMetric or QualitativeMetric in this file", path)
    return [_checked(_made(item, llm, path), path) for item in sorted(usable, key=lambda item: item.__name__)]


def _made(kind: Any, llm: Any, path: str) -> Any:
    try:
        parameters = inspect.signature(kind).parameters
        takes_llm = "llm" in parameters or any(item.kind is item.VAR_KEYWORD for item in parameters.values())
        metric = kind(llm=llm) if takes_llm else kind()
        if getattr(metric, "_llm", None) is None:
            metric._llm = llm
        return metric
    except BaseException as error:
        message = (
            f"{kind.__name__} can't be made: {cause_of(error)}; each parameter of __init__ but `llm` needs a default"
        )
        raise NotLoadable(message, path, _line_in(error, path) or _line_of(kind), short_trace(error)) from None


def _line_of(kind: Any) -> int | None:
    try:
        return inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return None


def _checked(metric: Any, path: str) -> Any:
    problem = None
    title = type(metric).__name__
    if not isinstance(getattr(metric, "name", None), str) or not metric.name.strip():
        problem = f"{title} has no name; call super().__init__(name=...)"
    elif getattr(metric, "scope", None) not in ("turn", "conversation"):
        problem = f"{title} has the scope {metric.scope!r}; it must be 'turn' or 'conversation'"
    elif isinstance(metric, QuantitativeMetric) and scale_of(metric) is None:
        problem = f"{title} has the score_range {metric.score_range!r}; it must be two numbers, the lower one first"
    elif isinstance(metric, QualitativeMetric) and not isinstance(metric.label_colors, dict):
        problem = f"{title} has label_colors that are no dictionary"
    if problem:
        raise NotLoadable(problem, path, _line_of(type(metric)))
    return metric


def scale_of(metric: Any) -> tuple[float, float] | None:
    """A numeric metric's lowest and highest value; None where its `score_range` is no range."""
    try:
        low, high = (float(bound) for bound in metric.score_range)
    except (TypeError, ValueError):
        return None
    return (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None


def find_agent_class(path: str, class_name: str | None) -> Any:
    """Load an agent's module and find its class.

    Without a name: the one subclass of BaseAgent that the module defines, else the one class that has an `execute`.

    Raises:
        NotLoadable: no class, several, or one that is not complete.
    """
    module = load_module(path)
    if class_name:
        kind = getattr(module, class_name, None)
        if not inspect.isclass(kind):
            there = ", ".join(
                name
                for name, item in vars(module).items()
                if inspect.isclass(item) and item.__module__ == module.__name__
            )
            raise NotLoadable(f"there is no class {class_name!r} in this file; it has {there or 'none'}", path)
        return _complete(kind, path)
    own: list[Any] = [
        item for item in vars(module).values() if inspect.isclass(item) and item.__module__ == module.__name__
    ]
    agents = [item for item in own if issubclass(item, BaseAgent) and not inspect.isabstract(item)]
    candidates = list(dict.fromkeys(agents or [item for item in own if callable(getattr(item, "execute", None))]))
    if len(candidates) == 1:
        return _complete(candidates[0], path)
    if candidates:
        names = ", ".join(item.__name__ for item in candidates)
        raise NotLoadable(f"there are several agent classes ({names}); name one in `custom_config.class_name`", path)
    raise NotLoadable("there is no agent class: a subclass of BaseAgent, or any class with an `execute` method", path)


def _complete(kind: Any, path: str) -> Any:
    if not callable(getattr(kind, "execute", None)):
        raise NotLoadable(f"{kind.__name__} has no `execute` method", path, _line_of(kind))
    if inspect.isabstract(kind):
        lacking = ", ".join(f"{name}()" for name in sorted(kind.__abstractmethods__))
        raise NotLoadable(f"{kind.__name__} is not complete: it lacks {lacking}", path, _line_of(kind))
    return kind
