"""How keys and values become bytes and bytes become values: `from odradek.serde import STRING`."""
