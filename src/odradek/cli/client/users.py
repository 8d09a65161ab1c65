"""`odradek users`: who can log in with SCRAM."""

import argparse
import os
import sys

from odradek.cli.client import plan
from odradek.cli.client.command import Group
from odradek.cli.client.connection import admin_of
from odradek.cli.client.near import unknown
from odradek.cli.client.table import show
from odradek.cli.failure import Failure

HELP = "users that log in with SCRAM: list, set, delete"

MECHANISMS = {"256": "SCRAM_SHA_256", "512": "SCRAM_SHA_512"}
PASSWORD_VARIABLE = "ODRADEK_PASSWORD"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    group = Group(commands, "users", HELP)
    group.action(
        "list",
        "the users that have a password, and by which mechanisms",
        _list,
        """
        users list
        """,
    )
    change = group.action(
        "set",
        "give a user a password, or another one",
        _set,
        """
        users set alice # asks for the password
        users set alice --mechanism 256 < password.txt
        """,
        json=False,
    )
    change.add_argument("name", metavar="NAME")
    change.add_argument(
        "--mechanism", choices=MECHANISMS, default="512", help="SCRAM-SHA-256 or SCRAM-SHA-512 (default)"
    )
    change.add_argument("--iterations", type=int, default=4096, metavar="N", help="default: 4096")
    delete = group.action(
        "delete",
        "take a user's passwords away",
        _delete,
        """
        users delete alice # shows which
        users delete alice --execute
        """,
    )
    delete.add_argument("name", metavar="NAME")
    plan.add_execute(delete)


def _list(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        found = admin.describe_user_scram_credentials().values_ok
    rows = [
        {"user": name, "mechanism": each.mechanism.name.replace("_", "-"), "iterations": each.iterations}
        for name, infos in sorted(found.items())
        for each in infos
    ]
    show(options, rows, {"user": "USER", "mechanism": "MECHANISM", "iterations": "ITERATIONS"})
    return 0


def _set(options: argparse.Namespace) -> int:
    from odradek.client.admin.credentials import UserScramCredentialUpsertion
    from odradek.protocol.vocabulary import ScramMechanism

    mechanism = ScramMechanism[MECHANISMS[options.mechanism]]
    wanted = UserScramCredentialUpsertion(options.name, mechanism, _password(options.name), options.iterations)
    with admin_of(options) as admin:
        admin.alter_user_scram_credentials([wanted]).raise_any()
    print(f"{options.name} can log in with {mechanism.name.replace('_', '-')}", file=sys.stderr)
    return 0


def _password(name: str) -> str:
    """From a terminal without showing it, else the first line of standard input. A flag would be in everybody's list of
    processes.
    """
    if PASSWORD_VARIABLE in os.environ:
        return os.environ[PASSWORD_VARIABLE]
    if sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        return getpass(f"password of {name}: ")
    line = "" if sys.stdin is None else sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise Failure(f"the password is the first line of standard input, or in ${PASSWORD_VARIABLE}: there is none")
    return line


def _delete(options: argparse.Namespace) -> int:
    from odradek.client.admin.credentials import UserScramCredentialDeletion

    with admin_of(options) as admin:
        there = admin.describe_user_scram_credentials().values_ok
        if options.name not in there:
            raise unknown("user", options.name, there, "odradek users list")
        infos = there[options.name]
        rows = [{"user": options.name, "mechanism": each.mechanism.name.replace("_", "-")} for each in infos]
        show(options, rows, {"user": "DELETE", "mechanism": "MECHANISM"})
        if not plan.is_to_be_done(options):
            return 0
        errors = {}
        for each in infos:  # one at a time: a request may change a user once
            gone = UserScramCredentialDeletion(options.name, each.mechanism)
            errors.update(admin.alter_user_scram_credentials([gone]).errors)
        return plan.outcome(errors)
