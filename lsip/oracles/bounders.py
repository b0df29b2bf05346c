"""Which bounder a cell begins with, and which one goes on where its boxes become many: a rule of what each can do."""

from __future__ import annotations

from copy import copy

from ..deadline import check
from ..domains import Domain
from ..expressions.quadratics import cubic_weights
from .base import Array, Directed, Rows, capable
from .bernstein import Bernstein, rational_rows
from .directional import Directional
from .partition import BoxPartition
from .pieces import AffinePieces
from .polynomial import PolynomialBounder
from .s_lemma import SLemma
from .taylor import Taylor
from .trigonometric import Trigonometric
from .vertex_rows import VertexRows


def partitions(family: Rows, domain: Domain) -> list[BoxPartition]:
    """One for each cell of the index set; of the indices alone, where directions have a closed form."""
    directed = capable(family)
    indices = directed.indices_of(domain) if isinstance(directed, Directed) else None
    exhaustive = without_boxes(directed, indices) if isinstance(directed, Directed) and indices is not None else None
    if exhaustive is not None:
        return [BoxPartition(exhaustive, (exhaustive.cell.lower, exhaustive.cell.upper))]
    whole = SLemma.of(family, domain) if indices is None else None
    if whole is not None:
        return [BoxPartition(whole, (whole.cell.lower, whole.cell.upper))]
    found = []
    for cell in (domain if indices is None else indices).flat_cells():
        check("enclosures")
        waves = Trigonometric.of(family, cell) if indices is None else None
        if waves is not None:
            found.append(BoxPartition(waves, waves.first_boxes()))
        else:
            found.append(BoxPartition((Taylor if indices is None else Directional)(family, cell)))
    return found


def without_boxes(directed: Directed, domain: Domain) -> AffinePieces | VertexRows | None:
    """What bounds rows that are convex in the index by its vertices, or by choices of pieces; None where neither is."""
    corners = VertexRows.of(directed, domain)
    pieces = AffinePieces.of(directed, domain)
    if corners is None or pieces is None:
        return corners or pieces
    return corners if len(corners.cell.lower) <= pieces.leaves else pieces


def convex(family: Rows) -> bool:
    """Whether rows are convex in the index, and largest at one of few vertices, or for a choice of pieces."""
    source: object = family.source
    return isinstance(source, Directed) and without_boxes(source, source.entries.domain) is not None


def closed_form(family: Rows) -> bool:
    """Whether no box is split for these rows: they are convex, or quadratics over a ball."""
    return convex(family) or SLemma.of(family, family.domain) is not None


def sharper(partition: BoxPartition, family: Rows, weights: Array) -> BoxPartition | None:
    """A partition of the same cell with a bounder that needs fewer boxes, or less for each; None if there is none.

    Functions one by one may round less than a sum of waves. Polynomials are expanded as a whole. Of other rows, cubic
    terms are known beside the quadratic ones, where they do not more than double the numbers of a box: two boxes in the
    place of one would cost as much. Where the compiled kernel has the rows, it keeps boxes alone: most are asked once.
    """
    bounder, cell = partition.bounder, partition.cell
    if isinstance(bounder, Trigonometric):
        return BoxPartition(Taylor(family, cell))
    if not isinstance(bounder, Taylor) or isinstance(bounder, Directional | Bernstein) or not bounder.kept:
        return None
    if rational_rows(family, cell, weights) is not None:
        other = copy(partition)  # the same boxes
        other.bounder = Bernstein(family, cell, bounder.order)
        return other
    expanded = PolynomialBounder(family, cell)
    if expanded.knows(weights):
        return BoxPartition(expanded)
    cubic = family.source.differentiable and len(cubic_weights(bounder.dim)) <= bounder.quadratic
    order, kept = (3 if cubic else bounder.order), bounder.tape is None
    if (order, kept) == (bounder.order, bounder.kept):
        return None
    boxes = (partition.lower.copy(), partition.upper.copy()) if order == bounder.order else None
    return BoxPartition(Taylor(family, cell, order, kept), boxes)
