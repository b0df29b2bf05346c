"""`lsip render`: an episode of a trained agent, as a picture or a film."""

from __future__ import annotations

import argparse
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import lsip
import rl
from lsip.files import whole_file

from . import tasks


def render(options: argparse.Namespace) -> int:
    """Draw an episode."""
    task, out = tasks.find(options.task), options.out
    kind = out.suffix.lower()
    if kind not in (".png", ".gif"):
        raise lsip.ModelError(f"Pictures are .png or .gif files; got {out.name}.")
    tasks.check_writable(out)
    agent = tasks.loaded(options.agent, task, 1, options.device)
    env = task.drawable()
    frames, total, steps = [], 0.0, 0
    observation, _ = env.reset(seed=options.seed)
    ended = cut = False
    while not (ended or cut):
        if kind == ".gif":
            frames.append(env.render())
        with warnings.catch_warnings():  # what is drawn may as well be a policy that is not feasible yet
            warnings.simplefilter("ignore", rl.NoGoodPolicyWarning)
            action = agent.predict(observation)[0]
        observation, reward, ended, cut, _ = env.step(action)
        total, steps = total + float(reward), steps + 1
    frames.append(env.render())
    env.close()
    _save(frames, out, 1000 // int(env.metadata.get("render_fps", 5)))
    end = "arrived" if ended else "did not arrive"
    print(f"wrote {out}: {end}, {steps} steps, return {total:.4f}")
    return 0


def _save(frames: list[Any], out: Path, milliseconds: int) -> None:
    """One picture, or a film whose last picture stays for a while; the file appears only when it is complete."""
    try:
        from PIL import Image
    except ImportError as error:
        raise lsip.MissingExtraError("Pictures need Pillow: pip install 'lsip[plot]'.") from error
    first, *others = [Image.fromarray(frame) for frame in frames]
    buffer = BytesIO()
    if out.suffix.lower() == ".png":
        first.save(buffer, "PNG")
    else:
        durations = [milliseconds] * len(others) + [10 * milliseconds]
        first.save(buffer, "GIF", save_all=True, append_images=others, duration=durations, loop=0)
    with whole_file(out, "film.gif") as part:
        part.write_bytes(buffer.getvalue())
