"""Pipelines in YAML: the tree of the file with the line of every key, by the nodes of PyYAML."""

from typing import Any

from odradek.serde.extras import library
from odradek.spark.pipeline.given import Given
from odradek.spark.pipeline.mistakes import Mistake, Mistakes, PipelineError, Place


def read_yaml(text: str, file: str, mistakes: Mistakes) -> Given:
    """PipelineError if it is no YAML; a key that comes twice is a mistake of its own."""
    yaml: Any = library("yaml", "spark")  # Any: PyYAML has no types of its own
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        raise PipelineError([_not_yaml(error, file)]) from None
    if node is None:
        raise PipelineError([Mistake(Place(file, 1), "the file is empty")])
    return _Reader(yaml, loader, file, mistakes).given(node, Place(file, 1))


def _not_yaml(error: Any, file: str) -> Mistake:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return Mistake(Place(file, 1 if mark is None else mark.line + 1), f"this is no YAML: {problem}")


class _Reader:
    def __init__(self, yaml: Any, loader: Any, file: str, mistakes: Mistakes) -> None:
        self._yaml = yaml
        self._loader = loader
        self._file = file
        self._mistakes = mistakes

    def given(self, node: Any, place: Place) -> Given:
        if isinstance(node, self._yaml.MappingNode):
            return Given(self._mapping(node), place)
        if isinstance(node, self._yaml.SequenceNode):
            return Given(tuple(self.given(each, self._place(each)) for each in node.value), place)
        return Given(self._scalar(node), self._begin(node, place))

    def _mapping(self, node: Any) -> dict[str, Given]:
        found: dict[str, Given] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in found:
                self._mistakes.add(self._place(key), f"the key {name} comes twice")
            found[name] = self.given(value, self._place(key))
        return found

    def _scalar(self, node: Any) -> Any:
        """Dates stay texts: nothing here is a date."""
        if node.tag in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:binary"):
            return node.value
        try:
            return self._loader.construct_object(node)
        except self._yaml.YAMLError as error:
            self._mistakes.add(self._place(node), f"this cannot be read: {getattr(error, 'problem', error)}")
            return None

    def _begin(self, node: Any, place: Place) -> Place:
        """A text over several lines begins below its key, so that a line within it is counted right."""
        is_block = node.style in ("|", ">")
        return Place(self._file, node.start_mark.line + 2) if is_block else place

    def _place(self, node: Any) -> Place:
        return Place(self._file, node.start_mark.line + 1)
