"""Which groups ListGroups asks for."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from odradek.protocol.messages.k16_list_groups import ListedGroup


class GroupFilter(NamedTuple):
    """States and types of groups that are asked for; all of them where none is named."""

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def has_type(self, name: str) -> bool:
        return not self.types or name in (wanted.lower() for wanted in self.types)


class _Listable(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def state(self) -> str: ...


def listed(
    groups: Iterable[_Listable],
    protocol: str,
    wanted: GroupFilter,
    asked_for: Callable[[str], str] = str.lower,
) -> list[ListedGroup]:
    """Groups of a protocol whose type has its name. `asked_for` is how a filter names a state, in small letters."""
    if not wanted.has_type(protocol):
        return []
    states = {state.lower() for state in wanted.states}
    found = []
    for group in groups:
        state = group.state
        if not states or asked_for(state) in states:
            found.append(
                ListedGroup(group_id=group.group_id, protocol_type=protocol, group_state=state, group_type=protocol)
            )
    return found
