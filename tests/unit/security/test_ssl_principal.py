import pytest

from odradek.config.errors import ConfigError
from odradek.security.principal import ANONYMOUS, Principal
from odradek.security.ssl_principal import MappingRules, distinguished_name

SUBJECT = (
    (("countryName", "CZ"),),
    (("organizationName", "Insurance, Ltd"),),
    (("organizationalUnitName", "claims"), ("userId", "7")),
    (("commonName", " #josef+k "),),
)


def test_the_name_is_written_as_rfc_2253_does():
    assert distinguished_name(SUBJECT) == r"CN=\ #josef\+k\ ,OU=claims+UID=7,O=Insurance\, Ltd,C=CZ"


def test_what_the_rfc_has_no_word_for_is_written_as_its_bytes():
    assert distinguished_name(((("emailAddress", "a@b"),),)) == "1.2.840.113549.1.9.1=#1603614062"
    assert distinguished_name(((("serialNumber", "7"),),)) == "2.5.4.5=#130137"
    assert distinguished_name(((("title", "Dr"),),)) == "2.5.4.12=#0c024472"


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        ("DEFAULT", "CN=a,OU=b", "CN=a,OU=b"),
        ("", "CN=a", "CN=a"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=svc,OU=ServiceUsers,O=x", "svc"),
        ("RULE:^CN=(.*?),.*$/$1/L", "CN=Svc,OU=x", "svc"),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "CN=svc", "SVC"),
        ("RULE:^cn=(.*)$/$1/,DEFAULT", "CN=a", "CN=a"),
        ("RULE:^cn=(.*)$/$1/", "CN=a", None),
        (r"RULE:^CN=([^,]*),OU=([^,]*)$/$2\/$1/", "CN=a,OU=b", "b/a"),
    ],
)
def test_rules(rules, name, expected):
    assert MappingRules.parse(rules).name(name) == expected


@pytest.mark.parametrize("rules", ["RULE", "RULE:a/b", "nonsense", "RULE:(/x/", "RULE:(.*)/$2/"])
def test_rules_that_are_none(rules):
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules"):
        MappingRules.parse(rules)


def test_who_shows_no_certificate_is_anonymous():
    assert MappingRules.parse("DEFAULT").principal(None) is ANONYMOUS
    subject = ((("commonName", "josef"),),)
    assert MappingRules.parse("DEFAULT").principal(subject) == Principal("User", "CN=josef")
