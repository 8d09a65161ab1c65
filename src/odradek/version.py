"""The version of this package: its one place, for those inside who tell it. Outside it is `odradek.__version__`."""

VERSION = "0.1.0"
