"""The graph of a pipeline as a picture: in the language of Graphviz, or drawn here as SVG, layer beside layer."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from odradek.spark.pipeline.graph import in_order, inputs_of, parts_by_name
from odradek.spark.pipeline.model import Declaration, FunctionStep, SqlStep, TableSource, TopicSource, target_text
from odradek.spark.pipeline.plan import dead_letters_query, described_sink, described_topics, with_dead_letters

SOURCE, STEP, SINK, DEAD = "source", "step", "sink", "dead"
_COLOURS = {SOURCE: "#d9ead3", STEP: "#dbe7f6", SINK: "#fce5cd", DEAD: "#f4cccc"}
_CHAR, _PAD, _HIGH, _GAP_X, _GAP_Y = 7, 12, 46, 70, 22
_LABEL_MAX = 40


@dataclass(frozen=True)
class Node:
    id: str
    kind: str
    title: str
    label: str
    layer: int


def nodes_and_edges(declaration: Declaration) -> tuple[list[Node], list[tuple[str, str]]]:
    """A node stands in the layer behind the last that it reads."""
    parts = parts_by_name(declaration)
    nodes: dict[str, Node] = {}
    edges: list[tuple[str, str]] = []
    for part in in_order(declaration):
        reads = list(dict.fromkeys(r.name.lower() for r in inputs_of(part) if r.name.lower() in parts))
        layer = 1 + max((nodes[each].layer for each in reads), default=-1)
        nodes[part.name.lower()] = _part_node(part, layer)
        edges += [(nodes[each].id, nodes[part.name.lower()].id) for each in reads]
    found = list(nodes.values())
    for sink in declaration.sinks:
        above = nodes[sink.input.lower()]
        found.append(Node(f"sink {sink.name}", SINK, sink.name, _cut(described_sink(sink)), above.layer + 1))
        edges.append((above.id, found[-1].id))
    for source in with_dead_letters(declaration):
        above = nodes[source.name.lower()]
        found.append(
            Node(
                dead_letters_query(source),
                DEAD,
                f"topic {source.dead_letters}",
                "what does not decode",
                above.layer + 1,
            )
        )
        edges.append((above.id, found[-1].id))
    return found, edges


def _part_node(part: TopicSource | TableSource | SqlStep | FunctionStep, layer: int) -> Node:
    if isinstance(part, TopicSource):
        return Node(
            f"part {part.name}", SOURCE, part.name, _cut(f"{described_topics(part)} ({part.decoder.kind})"), layer
        )
    if isinstance(part, TableSource):
        return Node(f"part {part.name}", SOURCE, part.name, _cut(f"table {part.path}"), layer)
    said = " ".join(part.text.split()) if isinstance(part, SqlStep) else f"{target_text(part.function)}()"
    return Node(f"part {part.name}", STEP, part.name, _cut(said), layer)


def dot(declaration: Declaration) -> str:
    nodes, edges = nodes_and_edges(declaration)
    lines = [f"digraph {_quoted(declaration.name)} {{", "  rankdir=LR;", '  node [shape=box, style="rounded,filled"];']
    for node in nodes:
        label = _quoted(f"{node.title}\n{node.label}")
        lines.append(f'  {_quoted(node.id)} [label={label}, fillcolor="{_COLOURS[node.kind]}"];')
    lines += [f"  {_quoted(begin)} -> {_quoted(end)};" for begin, end in edges]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    inside = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inside}"'


def svg(declaration: Declaration) -> str:
    nodes, edges = nodes_and_edges(declaration)
    boxes, width, height = _boxes(nodes)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(declaration.name)}</title>",
        '<defs><marker id="end" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<polygon points="0,0 8,4 0,8" fill="#555"/></marker></defs>',
    ]
    lines += [_edge(boxes[begin], boxes[end]) for begin, end in edges]
    for node in nodes:
        lines += _drawn(node, boxes[node.id])
    return "\n".join([*lines, "</svg>", ""])


@dataclass(frozen=True)
class Box:
    x: int
    y: int
    width: int


def _boxes(nodes: list[Node]) -> tuple[dict[str, Box], int, int]:
    """Columns from left to right, as wide as their widest box; with the size of the whole."""
    columns: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        columns[node.layer].append(node)
    boxes: dict[str, Box] = {}
    x, highest = _PAD, 0
    for layer in sorted(columns):
        width = max(_width(node) for node in columns[layer])
        for row, node in enumerate(columns[layer]):
            boxes[node.id] = Box(x, _PAD + row * (_HIGH + _GAP_Y), width)
        highest = max(highest, len(columns[layer]))
        x += width + _GAP_X
    return boxes, x - _GAP_X + _PAD, 2 * _PAD + highest * (_HIGH + _GAP_Y) - _GAP_Y


def _width(node: Node) -> int:
    return 2 * _PAD + _CHAR * max(len(node.title), len(node.label))


def _edge(begin: Box, end: Box) -> str:
    x1, y1 = begin.x + begin.width, begin.y + _HIGH // 2
    x2, y2 = end.x, end.y + _HIGH // 2
    middle = (x1 + x2) // 2
    path = f"M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}"
    return f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#end)"/>'


def _drawn(node: Node, box: Box) -> Iterator[str]:
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{_HIGH}" rx="6" '
        f'fill="{_COLOURS[node.kind]}" stroke="#555"/>'
    )
    yield f'<text x="{box.x + _PAD}" y="{box.y + 19}" font-weight="bold">{escape(node.title)}</text>'
    yield f'<text x="{box.x + _PAD}" y="{box.y + 36}" fill="#333">{escape(node.label)}</text>'


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL_MAX else f"{text[: _LABEL_MAX - 3]}..."
