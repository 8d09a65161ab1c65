"""Pipelines in SQL: a few statements around queries in Spark's own SQL, each ended by a semicolon.

    SET checkpoint = '/var/lib/orders';
    SET kafka.bootstrap.servers = 'localhost:9092';
    CREATE SOURCE orders FROM TOPIC 'orders' DECODE JSON (id BIGINT, amount DOUBLE, at TIMESTAMP)
        WATERMARK at DELAY '10 minutes' WITH (startingOffsets = 'earliest', dead_letters = 'orders-dead');
    CREATE VIEW large AS SELECT * FROM orders WHERE amount > 100;
    INSERT INTO TOPIC 'large-orders' WITH (key = 'id', guarantee = 'exactly-once') SELECT * FROM large;

A statement is read to its end or not at all: after a mistake the next one goes on.
"""

from collections.abc import Collection

from odradek.spark.pipeline.declaring import SINK_FIELDS, SOURCE_FIELDS
from odradek.spark.pipeline.given import Given
from odradek.spark.pipeline.mistakes import Mistake, Mistakes, PipelineError, Place, did_you_mean
from odradek.spark.pipeline.model import CONSOLE, DECODERS, SINKS
from odradek.spark.pipeline.sql_lexer import NUMBER, TEXT, Token, tokens
from odradek.spark.pipeline.sql_names import QUERY_WORDS

_STATEMENTS = ("SET", "CREATE", "INSERT")
_PIPELINE_FIELDS = ("pipeline", "checkpoint", "trigger")
_FROM = {"TOPIC": "topic", "TOPICS": "topics", "PATTERN": "pattern", "TABLE": "table"}


def read_sql(text: str, file: str, mistakes: Mistakes) -> Given:
    """PipelineError if a quote does not end; every other mistake is gathered."""
    reader = _Statements(text, file)
    for statement in _split(tokens(text, Place(file, 1))):
        try:
            reader.read(statement)
        except PipelineError as error:
            for mistake in error.mistakes:
                mistakes.add(mistake.place, mistake.text)
    return reader.given()


def _split(found: list[Token]) -> list[list[Token]]:
    statements: list[list[Token]] = [[]]
    for token in found:
        if token.is_sign(";"):
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


class _Statements:
    """Gathers what the statements say, in the form that every front end has."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._fields: dict[str, Given] = {}
        self._options: dict[str, Given] = {}
        self._conf: dict[str, Given] = {}
        self._sources: dict[str, Given] = {}
        self._steps: dict[str, Given] = {}
        self._sinks: dict[str, Given] = {}

    def given(self) -> Given:
        place = Place(self._file, 1)
        groups = {
            "options": self._options,
            "spark": self._conf,
            "sources": self._sources,
            "steps": self._steps,
            "sinks": self._sinks,
        }
        filled = {name: Given(each, place) for name, each in groups.items() if each}
        return Given({**self._fields, **filled}, place)

    def read(self, statement: list[Token]) -> None:
        one = _Statement(statement, self._text, self._file)
        match one.word(_STATEMENTS, "a statement").upper():
            case "SET":
                self._set(one)
            case "CREATE":
                self._create(one)
            case "INSERT":
                self._insert(one)

    def _set(self, one: "_Statement") -> None:
        place = one.place
        name = one.dotted_name()
        one.sign("=")
        value = one.value()
        one.end()
        if name in _PIPELINE_FIELDS:
            self._fields[name] = Given(value, place)
        elif name.startswith("spark."):
            self._conf[name] = Given(value, place)
        elif "." in name:
            self._options[name] = Given(value, place)
        else:
            guess = did_you_mean(name, (*_PIPELINE_FIELDS, "kafka.bootstrap.servers"))
            raise PipelineError([Mistake(place, f"SET knows no {name!r}{guess}")])

    def _create(self, one: "_Statement") -> None:
        what = one.word(("SOURCE", "VIEW"), "CREATE").upper()
        place = one.place
        name = one.name("the name")
        fields = _source(one) if what == "SOURCE" else _view(one)
        into = self._sources if what == "SOURCE" else self._steps
        if name.lower() in (each.lower() for each in (*self._sources, *self._steps)):
            raise PipelineError([Mistake(place, f"the name {name} is taken")])
        into[name] = Given(fields, place)

    def _insert(self, one: "_Statement") -> None:
        one.word(("INTO",), "INSERT")
        place = one.place
        kind = one.word([each.upper() for each in SINKS], "INSERT INTO").lower()
        target: str | bool = True if kind == CONSOLE else one.text(f"the {kind} to write to")
        fields = {kind: Given(target, place), **one.options(SINK_FIELDS, place)}
        named = fields.pop("name", None)
        name = str(named.value) if named is not None else _sink_name(kind, target)
        if name in self._sinks:
            raise PipelineError([Mistake(place, f"two sinks are called {name}: give one WITH (name = '...')")])
        step = f"into_{name}"
        fields["from"] = Given(step, place)
        self._steps[step] = Given(_query(one), one.place)
        self._sinks[name] = Given(fields, place)


def _sink_name(kind: str, target: str | bool) -> str:
    """Of the topic or of the last part of the path: it names the directory of the checkpoint."""
    last = kind if target is True else str(target).rstrip("/").replace(":", "/").rsplit("/", 1)[-1]
    return "".join(char if char.isalnum() else "_" for char in last) if last != kind else kind


def _view(one: "_Statement") -> dict[str, Given]:
    one.word(("AS",), "CREATE VIEW name")
    return _query(one)


def _query(one: "_Statement") -> dict[str, Given]:
    place = one.place
    if not one.now.is_word(*QUERY_WORDS):
        one.fail(f"a query is expected: {', '.join(QUERY_WORDS)}")
    return {"sql": Given(one.rest(), place)}


def _source(one: "_Statement") -> dict[str, Given]:
    one.word(("FROM",), "CREATE SOURCE name")
    place = one.place
    chosen = _FROM[one.word(_FROM, "FROM").upper()]
    names = one.texts()
    if len(names) > 1 and chosen not in ("topic", "topics"):
        raise PipelineError([Mistake(place, f"{chosen.upper()} takes one text")])
    fields = {"topics" if len(names) > 1 else chosen: Given(_one_or_all(names, place), place)}
    if one.skip("DECODE"):
        fields |= _decode(one)
    if one.skip("WATERMARK"):
        fields["event_time"] = Given(one.name("the column of the time"), place)
        one.word(("DELAY",), "WATERMARK column")
        fields["watermark"] = Given(one.text("how late a record may be"), place)
    fields |= one.options(SOURCE_FIELDS, place)
    one.end()
    return fields


def _one_or_all(names: list[str], place: Place) -> str | tuple[Given, ...]:
    return names[0] if len(names) == 1 else tuple(Given(each, place) for each in names)


def _decode(one: "_Statement") -> dict[str, Given]:
    place = one.place
    kind = one.word([each.upper() for each in DECODERS], "DECODE").lower()
    fields = {"decode": Given(kind, place)}
    if one.now.is_sign("("):
        inside = one.place
        fields["schema"] = Given(one.in_brackets(), inside)
    return fields


class _Statement:
    """The tokens of one statement, taken from the front."""

    def __init__(self, found: list[Token], text: str, file: str) -> None:
        self._found = found
        self._text = text
        self._file = file
        self._at = 0

    @property
    def now(self) -> Token:
        last = self._found[-1]
        end = Token("end", "the end of the statement", last.line, last.end, last.end)
        return self._found[self._at] if self._at < len(self._found) else end

    @property
    def place(self) -> Place:
        return Place(self._file, self.now.line)

    def fail(self, text: str) -> None:
        raise PipelineError([Mistake(self.place, f"{text}, not {self.now.value!r}")])

    def word(self, words: Collection[str], behind: str) -> str:
        token = self.now
        if not token.is_word(*words):
            there = ", ".join(words)
            guess = did_you_mean(token.value, words) if len(words) > 1 else ""
            guess = guess if "did you mean" in guess else ""
            what = "a statement begins with" if behind == "a statement" else f"behind {behind} comes"
            raise PipelineError([Mistake(self.place, f"{what} {there}, not {token.value!r}{guess}")])
        self._at += 1
        return token.value

    def skip(self, word: str) -> bool:
        is_there = self.now.is_word(word)
        self._at += is_there
        return is_there

    def name(self, what: str) -> str:
        token = self.now
        if not token.is_identifier:
            self.fail(f"{what} is expected")
        self._at += 1
        return token.value

    def dotted_name(self) -> str:
        """`kafka.bootstrap.servers`, or the same in quotes."""
        if self.now.kind == TEXT:
            return self.text("a name")
        parts = [self.name("a name")]
        while self.now.is_sign(".") or self.now.is_sign("-"):
            parts.append(self.now.value)
            self._at += 1
            parts.append(self.name("a name"))
        return "".join(parts)

    def sign(self, sign: str) -> None:
        if not self.now.is_sign(sign):
            self.fail(f"{sign!r} is expected")
        self._at += 1

    def text(self, what: str) -> str:
        token = self.now
        if token.kind != TEXT:
            self.fail(f"{what} is expected, in quotes")
        self._at += 1
        return token.value

    def texts(self) -> list[str]:
        found = [self.text("a name")]
        while self.now.is_sign(","):
            self._at += 1
            found.append(self.text("a name"))
        return found

    def value(self) -> str:
        """A text, a number or a word such as true."""
        token = self.now
        if token.kind not in (TEXT, NUMBER) and not token.is_identifier:
            self.fail("a value is expected")
        self._at += 1
        return token.value

    def options(self, fields: Collection[str], place: Place) -> dict[str, Given]:
        """WITH (name = value, ...): fields by their names, the others are options of the format."""
        if not (self.now.is_word("WITH") and self._next_is_bracket()):
            return {}
        self._at += 2
        found: dict[str, Given] = {}
        options: dict[str, Given] = {}
        while not self.now.is_sign(")"):
            at = self.place
            name = self.dotted_name()
            self.sign("=")
            where, key = (found, name) if name in fields else _where(name, found, options, at)
            if key in where:
                raise PipelineError([Mistake(at, f"{name} comes twice")])
            where[key] = Given(self.value(), at)
            if not self.now.is_sign(")"):
                self.sign(",")
        self._at += 1
        return found | ({"options": Given(options, place)} if options else {})

    def _next_is_bracket(self) -> bool:
        return self._at + 1 < len(self._found) and self._found[self._at + 1].is_sign("(")

    def in_brackets(self) -> str:
        """The text between two brackets that belong together, with the lines before it kept for counting."""
        begin = self._found[self._at]
        depth = 0
        while self._at < len(self._found):
            depth += self.now.is_sign("(") - self.now.is_sign(")")
            self._at += 1
            if depth == 0:
                return self._text[begin.end : self._found[self._at - 1].start]
        raise PipelineError([Mistake(Place(self._file, begin.line), "a bracket that is opened is not closed")])

    def rest(self) -> str:
        """The text of the query, comments and all."""
        begin = self.now.start
        self._at = len(self._found)
        return self._text[begin : self._found[-1].end]

    def end(self) -> None:
        if self._at < len(self._found):
            self.fail("the end of the statement is expected")


def _where(name: str, found: dict[str, Given], options: dict[str, Given], place: Place) -> tuple[dict[str, Given], str]:
    """`catalog.uri` is the uri of the field catalog; the rest are options."""
    group, _, key = name.partition(".")
    if group != "catalog" or not key:
        return options, name
    catalog = found.setdefault("catalog", Given({}, place)).value
    if not isinstance(catalog, dict):
        raise PipelineError([Mistake(place, "catalog is given by its parts alone: catalog.type, catalog.uri")])
    return catalog, key
