"""One self-contained page about a solution: the model, what is proven, the violation over Y, the way there."""

from .page import write_report

__all__ = ["write_report"]
