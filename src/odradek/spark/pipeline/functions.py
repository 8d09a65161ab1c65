"""Functions that a pipeline names as module:function; what they bring along travels to the executors by value.

The modules beside a pipeline's file are not installed on the machines of a cluster, nor is the file itself.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from odradek.spark.pipeline.loading import MODULE
from odradek.spark.pipeline.mistakes import Mistake, PipelineError, Place


def resolved(function: str | Callable[..., Any], place: Place) -> Callable[..., Any]:
    """PipelineError if there is no such module or function. Any: a person's own."""
    if not isinstance(function, str):
        return function
    module_name, _, name = function.partition(":")
    _import_from(os.path.dirname(os.path.abspath(place.file)))
    try:
        found = getattr(import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise PipelineError([Mistake(place, f"{function} cannot be had: {error}")]) from error
    if not callable(found):
        raise PipelineError([Mistake(place, f"{function} is no function")])
    send_by_value(place.file)
    return found  # type: ignore[no-any-return]


def _import_from(directory: str) -> None:
    if directory not in sys.path:
        sys.path.insert(0, directory)


def send_by_value(file: str) -> None:
    """Everything that was imported from the directory of the pipeline's file, and the file: before a function of it is
    called, since Spark packs what it is given at once.
    """
    from pyspark import cloudpickle

    directory = os.path.dirname(os.path.abspath(file))
    for name, module in list(sys.modules.items()):
        if name == MODULE or _is_below(module, directory):
            cloudpickle.register_pickle_by_value(module)


def _is_below(module: ModuleType, directory: str) -> bool:
    """What is installed is not meant, though a project may have its environment beside the file."""
    path = getattr(module, "__file__", None)
    if not path or module.__name__ == "__main__" or "site-packages" in path:
        return False
    return str(os.path.dirname(os.path.abspath(path))) == directory
