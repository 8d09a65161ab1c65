"""A pipeline's file, by its ending: .yaml, .yml, .sql or .py."""

import importlib.util
import os
import re
import sys
import traceback
from types import ModuleType

from odradek.spark.pipeline.checking import check
from odradek.spark.pipeline.declaring import declared
from odradek.spark.pipeline.mistakes import Mistake, Mistakes, PipelineError, Place
from odradek.spark.pipeline.model import Declaration
from odradek.spark.pipeline.python_api import Pipeline

MODULE = "odradek_pipeline"  # the name of a file in Python while it is run
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_READERS = (".yaml", ".yml", ".sql", ".py")


def load(file: str) -> Declaration:
    """The checked model; PipelineError with all that is wrong, OSError if the file cannot be read."""
    ending = os.path.splitext(file)[1].lower()
    if ending not in _READERS:
        raise PipelineError([Mistake(Place(file, 1), f"a pipeline is a file that ends in {', '.join(_READERS)}")])
    with open(file, encoding="utf-8") as source:
        text = source.read()
    return _from_python(file) if ending == ".py" else _from_text(text, file, ending)


def _from_text(text: str, file: str, ending: str) -> Declaration:
    mistakes = Mistakes()
    text = with_environment(text, file, mistakes)
    if ending == ".sql":
        from odradek.spark.pipeline.sql_file import read_sql

        root = read_sql(text, file, mistakes)
    else:
        from odradek.spark.pipeline.yaml_file import read_yaml

        root = read_yaml(text, file, mistakes)
    declaration = declared(root, os.path.splitext(os.path.basename(file))[0], mistakes)
    check(declaration, mistakes)
    mistakes.raise_if_any()
    return declaration


def with_environment(text: str, file: str, mistakes: Mistakes) -> str:
    """${NAME} is what the environment has under that name, ${NAME:-other} is the other where it has none."""

    def value(found: re.Match[str]) -> str:
        name, otherwise = found.groups()
        known = os.environ.get(name, otherwise)
        if known is None:
            line = text.count("\n", 0, found.start()) + 1
            mistakes.add(Place(file, line), f"the environment has no {name}: set it, or write ${{{name}:-default}}")
        return name if known is None else known

    return _VARIABLE.sub(value, text)


def _from_python(file: str) -> Declaration:
    """Runs the file and takes the pipeline that it has made. Its own directory is where it imports from."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    made = _run(file)
    pipelines = {id(each): each for each in vars(made).values() if isinstance(each, Pipeline)}
    if len(pipelines) != 1:
        said = "makes no Pipeline" if not pipelines else f"makes {len(pipelines)} pipelines"
        raise PipelineError([Mistake(Place(file, 1), f"the file {said}: one, in a global name, is what is run")])
    return next(iter(pipelines.values())).declaration()


def _run(file: str) -> ModuleType:
    """As a module with a name of its own, so that `if __name__ == "__main__"` does not run the pipeline twice."""
    spec = importlib.util.spec_from_file_location(MODULE, file)
    if spec is None or spec.loader is None:
        raise PipelineError([Mistake(Place(file, 1), "this cannot be run as Python")])
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    try:
        spec.loader.exec_module(module)
    except PipelineError:
        raise
    except Exception as error:
        raise PipelineError([_failed(error, file)]) from error
    return module


def _failed(error: Exception, file: str) -> Mistake:
    """The line of the file itself, as far down as the error came."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else (lines[-1] if lines else None)
    return Mistake(Place(file, line or 1), f"{type(error).__name__}: {error}")
