import pytest

from odradek.config.errors import ConfigError
from odradek.config.jaas import parse
from odradek.security.sasl_plain import PlainCredentials

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_login_module_with_users():
    module = parse(f'{PLAIN} required\n  username="admin"\n  user_alice="alice-secret" user_bob=\'b\';  ')
    assert module.name == PLAIN
    assert module.flag == "required"
    assert module.options == {"username": "admin", "user_alice": "alice-secret", "user_bob": "b"}
    users = PlainCredentials.from_login_module(module)
    assert users.accepts("alice", "alice-secret")
    assert not users.accepts("admin", "")
    assert not users.accepts("alice", "b")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\"b"', 'a"b'),
        (r'"tab\there"', "tab\there"),
        (r'"\101"', "A"),
        ('"semi;colon = fine"', "semi;colon = fine"),
        ("bare-word.1", "bare-word.1"),
        ("true", "true"),
        ('""', ""),
    ],
)
def test_values_as_java_reads_them(text, value):
    assert parse(f"M required user_x={text};").options == {"user_x": value}


def test_comments_are_skipped():
    assert parse("// one\nM /* two\n */ required a=b;").options == {"a": "b"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "M required",
        "M;",
        "M sometimes a=b;",
        "M required a;",
        "M required a=;",
        'M required a="b;',
        "M required a=b; M required c=d;",
        "M required a b c;",
    ],
)
def test_anything_else_is_refused_without_showing_it(text):
    with pytest.raises(ConfigError) as caught:
        parse(text.replace("a=b", "user_a=hunter2"))
    assert "sasl.jaas.config" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_another_login_module_has_no_plain_users():
    with pytest.raises(ConfigError, match="PlainLoginModule"):
        PlainCredentials.from_login_module(parse('com.example.Mine required user_a="b";'))
