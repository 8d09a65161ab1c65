"""Which part of a pipeline reads which: names, order, cycles, what lies upstream."""

from collections.abc import Iterator, Mapping

from odradek.spark.pipeline.mistakes import Place
from odradek.spark.pipeline.model import Declaration, FunctionStep, SqlStep, TableSource, TopicSource
from odradek.spark.pipeline.sql_names import NameInSql, names_read

Part = TopicSource | TableSource | SqlStep | FunctionStep


def parts_by_name(declaration: Declaration) -> dict[str, Part]:
    """Under their names in lower case: to Spark's SQL, `Orders` and `orders` are one name."""
    return {part.name.lower(): part for part in (*declaration.sources, *declaration.steps)}


def inputs_of(part: Part) -> list[NameInSql]:
    """What it reads by name, in the person's own spelling."""
    if isinstance(part, SqlStep):
        return names_read(part.text, part.place)
    if isinstance(part, FunctionStep):
        return [NameInSql(name, part.place) for name in part.inputs]
    return []


def upstream(part: Part, parts: Mapping[str, Part]) -> Iterator[Part]:
    """The part itself, and all that it depends on, each once."""
    seen: dict[str, Part] = {}
    todo = [part]
    while todo:
        each = todo.pop()
        if each.name.lower() not in seen:
            seen[each.name.lower()] = each
            todo += [parts[read.name.lower()] for read in inputs_of(each) if read.name.lower() in parts]
    yield from seen.values()


def in_order(declaration: Declaration) -> list[Part]:
    """Each behind what it reads. There must be no cycle."""
    parts = parts_by_name(declaration)
    ordered: dict[str, Part] = {}

    def visit(part: Part) -> None:
        if part.name.lower() in ordered:
            return
        for read in inputs_of(part):
            if read.name.lower() in parts:
                visit(parts[read.name.lower()])
        ordered[part.name.lower()] = part

    for part in parts.values():
        visit(part)
    return list(ordered.values())


def cycle(parts: Mapping[str, Part]) -> tuple[Place, list[str]] | None:
    """The names along one, the first again at the end, and the place of the first."""
    done: set[str] = set()
    for name in parts:
        found = _cycle_from(name, parts, [], done)
        if found:
            return parts[found[0]].place, [parts[each].name for each in found]
    return None


def _cycle_from(name: str, parts: Mapping[str, Part], path: list[str], done: set[str]) -> list[str]:
    if name in path:
        return [*path[path.index(name) :], name]
    if name in done or name not in parts:
        return []
    for read in inputs_of(parts[name]):
        found = _cycle_from(read.name.lower(), parts, [*path, name], done)
        if found:
            return found
    done.add(name)
    return []
