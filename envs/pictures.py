"""What `render` does for all of our environments: refuse, warn, or draw a picture of the episode so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np

import lsip
import rl
from lsip.validation import shown

MODES = ["rgb_array"]


def mode(wanted: str | None) -> str | None:
    """A render mode, checked."""
    if wanted is not None and (not isinstance(wanted, str) or wanted not in MODES):
        raise lsip.ModelError(f'`render_mode` is None or "rgb_array"; got {shown(wanted)}.')
    return wanted


def picture(wanted: str | None, positions: Sequence[Any], draw: Callable[[Any], None]) -> Any:
    """What `draw` makes of empty axes, uint8 of shape (480, 480, 3); None, with a warning, without a render mode."""
    if wanted is None:
        gymnasium.logger.warn('Nothing is drawn without a render mode: make it with render_mode="rgb_array".')
        return None
    if not positions:
        raise gymnasium.error.ResetNeeded("There is no route yet to draw: call `reset` first.")
    drawn: Any = rl.plotting.figure(size=(4.8, 4.8))
    draw(drawn.axes[0])
    drawn.canvas.draw()
    return np.asarray(drawn.canvas.buffer_rgba())[..., :3].copy()
