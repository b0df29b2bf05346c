"""The version of lsip, for whoever prints it."""

__version__ = "0.3.0"
