// The violation over the index set: a curve, a heat map, slices, or a cloud of points, with the active points on it.

const QUANTITY = { violation: "violation", drift: "a(y)·d", points: "" }[data.kind];
const NUMBER = { violation: "a(y)·x − b(y)", drift: "a(y)·d", points: "multiplier" }[data.kind];

const choose = (parent, name, options, chosen, change) => {
  if (options.length < 2) return;
  const label = make("label", {}, parent, name);
  const select = make("select", { "data-choice": name }, label);
  options.forEach((text, k) => make("option", { value: k }, select, text));
  select.value = chosen;
  select.addEventListener("change", () => change(Number(select.value)));
};

const facts = (family, active) => [
  [family.coordinates.length === 1 ? family.coordinates[0] : "index point", pointText(active.point)],
  ["multiplier", shown(active.multiplier, 6)],
  ...(active.violation === null ? [] : [[QUANTITY, shown(active.violation, 3)]]),
];

// Whether an active point is drawn with a family; points at infinity are not.
const of = (family, active) => active.family === family.family && active.point.every((v) => v !== null);

// The marks of the active points; `place(point)` gives their pixels, or null outside the picture, `near(point)` says whether they lie on the slice.
const marks = (svg, family, row, place, near = () => true) => {
  const mine = data.active.map((active, k) => [active, k]).filter(([active]) => of(family, active));
  const heaviest = Math.max(...mine.map(([active]) => active.multiplier), 1e-300);
  for (const [active, k] of mine) {
    const [cx, cy] = place(active) || [];
    if (cx === undefined) continue;
    const mark = draw("circle", { class: "point", cx, cy, r: 4 + 5 * Math.sqrt(active.multiplier / heaviest), "data-point": k }, svg);
    if (mine.length > 60) mark.classList.add("crowd");
    if (!near(active.point) || (row && row.row !== active.row)) mark.classList.add("off");
    speaking(mark, active.constraint, facts(family, active));
  }
};

const curve = (stage, family, state, width) => {
  const height = Math.max(260, Math.min(400, 0.55 * width));
  const box = { left: 64, right: width - 12, top: 14, bottom: height - 44 };
  const svg = draw("svg", { width, height, tabindex: 0, role: "group", "aria-label": `${NUMBER} along ${family.coordinates[0]}; arrow keys read it` }, stage);
  const t = floats(family.t, Float64Array);
  const lines = (family.values || []).map((text) => floats(text));
  const chosen = lines[state.row];
  const mine = data.active.filter((active) => of(family, active));
  const heights = chosen ? (state.row ? chosen : lines.flatMap((line) => [...extent(line)])) : mine.map((active) => active.multiplier);
  let [low, high] = extent([0, ...heights]);
  const pad = 0.06 * (high - low || 1);
  [low, high] = [low < 0 ? low - pad : low, high + pad];
  const x = linear(family.lower[0], family.upper[0], box.left, box.right);
  const y = linear(low, high, box.bottom, box.top);
  const levels = ticks(low, high, 5);
  for (const v of levels) draw("line", { class: "grid", x1: box.left, x2: box.right, y1: y(v), y2: y(v) }, svg);
  leftAxis(svg, y, levels, box.left, (v) => shown(Number(v.toPrecision(12)), 3));
  bottomAxis(svg, x, ticks(family.lower[0], family.upper[0], Math.max(3, width / 110)), box.bottom, family.coordinates[0], (box.left + box.right) / 2);
  draw("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }, svg);
  if (!chosen) {
    for (const active of mine) draw("line", { class: "curve", x1: x(active.point[0]), x2: x(active.point[0]), y1: y(0), y2: y(active.multiplier) }, svg);
    marks(svg, family, null, (active) => [x(active.point[0]), y(active.multiplier)]);
    return;
  }
  const path = (g, join) => {
    let text = "";
    let pen = "M";
    for (let k = 0; k < t.length; k++) {
      if (Number.isFinite(t[k]) && Number.isFinite(g[k])) {
        text += `${pen}${x(t[k]).toFixed(1)} ${y(join(g[k])).toFixed(1)}`;
        pen = "L";
      } else pen = "M";
    }
    return text;
  };
  const area = (join, name) => {
    let start = 0;
    for (let k = 0; k <= t.length; k++) {
      if (k < t.length && Number.isFinite(t[k]) && Number.isFinite(chosen[k])) continue;
      if (k > start) {
        let text = `M${x(t[start])} ${y(0)}`;
        for (let n = start; n < k; n++) text += `L${x(t[n]).toFixed(1)} ${y(join(chosen[n])).toFixed(1)}`;
        draw("path", { class: name, d: `${text}L${x(t[k - 1])} ${y(0)}Z` }, svg);
      }
      start = k + 1;
    }
  };
  if (low < 0) area((g) => Math.min(g, 0), "slackarea");
  area((g) => Math.max(g, 0), "brokenarea");
  draw("line", { class: "zero", x1: box.left, x2: box.right, y1: y(0), y2: y(0) }, svg);
  if (!state.row) for (const line of lines.slice(1)) draw("path", { class: "curve thin", d: path(line, (g) => g) }, svg);
  draw("path", { class: "curve", d: path(chosen, (g) => g) }, svg);
  const cursor = draw("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" }, svg);
  readable(
    svg,
    [x((family.lower[0] + family.upper[0]) / 2), box.top],
    [(box.right - box.left) / 60, 0],
    (px) => {
      const wanted = x.invert(Math.max(box.left, Math.min(px, box.right)));
      let best = -1;
      for (let k = 0; k < t.length; k++) {
        if (Number.isFinite(t[k]) && (best < 0 || Math.abs(t[k] - wanted) < Math.abs(t[best] - wanted))) best = k;
      }
      const rows = [[family.coordinates[0], shown(t[best], 5)], [QUANTITY, shown(chosen[best], 3)]];
      return { x: x(t[best]), y: y(chosen[best]), title: "", rows };
    },
    (found) => {
      cursor.setAttribute("visibility", found ? "visible" : "hidden");
      if (found) for (const end of ["x1", "x2"]) cursor.setAttribute(end, found.x);
    },
  );
  marks(svg, family, family.rows[state.row], (active) => [x(active.point[0]), y(active.violation)]);
};

// The frame of a picture in a plane: scales along two axes, equal where the set is not too long.
const plane = (stage, family, axes, corners, width, label) => {
  const [i, j] = axes;
  const [[left, bottom], [right, top]] = corners;
  const sides = [right - left || 1, top - bottom || 1];
  const ratio = sides[1] / sides[0] > 0.2 && sides[1] / sides[0] < 5 ? sides[1] / sides[0] : 0.75;
  const room = width - 64 - 14;
  const across = Math.min(room, 620 / ratio);
  const box = { left: 64, top: 10, width: across, height: across * ratio };
  const svg = draw("svg", { width, height: box.height + 58, tabindex: 0, role: "group", "aria-label": label }, stage);
  const x = linear(left, right, box.left, box.left + box.width);
  const y = linear(bottom, top, box.top + box.height, box.top);
  bottomAxis(svg, x, ticks(left, right, Math.max(3, across / 100)), box.top + box.height, family.coordinates[i], box.left + box.width / 2);
  leftAxis(svg, y, ticks(bottom, top, 5), box.left);
  const middle = box.top + box.height / 2;
  draw("text", { transform: `translate(14 ${middle}) rotate(-90)`, "text-anchor": "middle" }, svg, family.coordinates[j]);
  const cross = [draw("line", { class: "cursor" }, svg), draw("line", { class: "cursor" }, svg)];
  const moved = (found) => {
    for (const line of cross) line.setAttribute("visibility", found ? "visible" : "hidden");
    if (!found) return;
    const lines = [[found.x, found.x, box.top, box.top + box.height], [box.left, box.left + box.width, found.y, found.y]];
    lines.forEach(([x1, x2, y1, y2], k) => Object.entries({ x1, x2, y1, y2 }).forEach(([name, v]) => cross[k].setAttribute(name, v)));
  };
  moved(null);
  return { svg, x, y, box, moved };
};

const heat = (stage, family, state, width, legend) => {
  const map = family.maps[state.map];
  const [i, j] = map.axes;
  const { svg, x, y, box, moved } = plane(stage, family, map.axes, map.corners, width, `${NUMBER} over the index set; arrow keys read it anywhere`);
  const canvas = make("canvas", { "aria-hidden": "true" }, null);
  stage.prepend(canvas);
  const ratio = Math.min(2, devicePixelRatio || 1);
  [canvas.width, canvas.height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
  Object.assign(canvas.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
  const cover = coverage(map.mask && bytes(map.mask), family.maskSide);
  const side = family.side;
  const values = map.values && floats(map.values[state.row]);
  const colours = values ? palette(...extent(values)) : palette(-1, 0);
  paint(canvas, values || new Float32Array(side * side).fill(-0.12), side, cover, colours);
  outline(canvas, cover, ratio);
  if (values) {
    contours(canvas, values, side, cover, ratio);
    legend(colours);
    const step = [box.width / 40, box.height / 40];
    const at = (px, py) => {
      px = Math.max(box.left, Math.min(px, box.left + box.width));
      py = Math.max(box.top, Math.min(py, box.top + box.height));
      const [u, v] = [(px - box.left) / box.width, 1 - (py - box.top) / box.height];
      const rows = [[family.coordinates[i], shown(x.invert(px), 4)], [family.coordinates[j], shown(y.invert(py), 4)]];
      const value = cover(u, v) < 0.5 ? null : between(values, side, u, v);
      rows.push(value === null ? ["", "outside the index set"] : [`${QUANTITY} ≈`, shown(value, 3)]);
      return { x: px, y: py, title: "", rows };
    };
    readable(svg, [box.left + box.width / 2, box.top + box.height / 2], step, at, moved);
  }
  const others = family.lower.map((_, k) => k).filter((k) => k !== i && k !== j);
  const near = (point) => !values || others.every((k) => Math.abs(point[k] - map.through[k]) <= 1e-3 * (family.upper[k] - family.lower[k]));
  const seen = ({ point }) => [i, j].every((k, n) => point[k] >= map.corners[0][n] && point[k] <= map.corners[1][n]);
  marks(svg, family, family.rows[state.row], (active) => (seen(active) ? [x(active.point[i]), y(active.point[j])] : null), near);
  const fixed = others.map((k) => `${family.coordinates[k]} = ${shown(map.through[k])}`);
  return fixed.length > 6 ? `${fixed.slice(0, 5).join(", ")} and ${fixed.length - 5} more as at ${map.name}` : fixed.join(", ");
};

const cloud = (stage, family, state, width, legend) => {
  const m = family.lower.length;
  const points = floats(family.points);
  const values = family.values && floats(family.values[state.row]);
  const axes = m === 1 ? [0, 0] : state.axes;
  const corners = [family.lower, family.upper].map((end) => axes.map((k) => end[k]));
  const frame = plane(stage, family, axes, corners, width, `${NUMBER} at the points of the index set; arrow keys read it`);
  const { svg, x, y, box, moved } = frame;
  draw("rect", { class: "place", x: box.left, y: box.top, width: box.width, height: box.height, rx: 4 }, svg);
  const colours = values ? palette(...extent(values)) : palette(-1, 0);
  const places = [];
  for (let k = 0; k * m < points.length; k++) places.push([x(points[k * m + axes[0]]), y(points[k * m + axes[1]])]);
  const radius = Math.max(2, Math.min(6, 160 / Math.sqrt(places.length)));
  places.forEach(([cx, cy], k) => draw("circle", { cx, cy, r: radius, fill: values ? colours.css(values[k]) : "var(--tight)", stroke: "var(--tight)", "stroke-width": 0.3 }, svg));
  if (values) {
    legend(colours);
    const at = (px, py) => {
      let best = 0;
      places.forEach(([a, b], k) => {
        if (Math.hypot(a - px, b - py) < Math.hypot(places[best][0] - px, places[best][1] - py)) best = k;
      });
      const point = Array.from(points.subarray(best * m, best * m + m));
      return { x: places[best][0], y: places[best][1], title: "", rows: [["index point", pointText(point, 4)], [QUANTITY, shown(values[best], 3)]] };
    };
    readable(svg, places[0], [box.width / 24, box.height / 24], at, moved);
  }
  marks(svg, family, family.rows[state.row], (active) => [x(active.point[axes[0]]), y(active.point[axes[1]])]);
  return m > 2 ? "points of the whole set, seen along the other axes" : "";
};

const scene = (root) => {
  const state = { family: 0, row: 0, map: 0, axes: [0, 1] };
  const controls = make("div", { class: "controls" });
  const frame = make("div", { class: "scene" });
  const stage = make("div", { class: "stage" }, frame);
  const aside = make("div", { class: "aside" }, frame);
  root.replaceChildren(controls, frame);

  const set = (change) => {
    Object.assign(state, change);
    refresh();
  };
  const fillControls = (family) => {
    controls.replaceChildren();
    choose(controls, "constraints", data.families.map((f) => f.name), state.family, (k) => set({ family: k, row: 0, map: 0, axes: [0, 1] }));
    choose(controls, "row", family.rows.map((row) => (row ? row.label : `largest of all ${family.count}`)), state.row, (k) => set({ row: k }));
    if (family.picture === "map") {
      const text = (map) => `${family.coordinates[map.axes[0]]} × ${family.coordinates[map.axes[1]]}${map.name && ` through ${map.name}`}`;
      choose(controls, "slice", family.maps.map(text), state.map, (k) => set({ map: k }));
    } else if (family.picture === "cloud" && family.lower.length > 2) {
      const pairs = [];
      for (let i = 0; i < Math.min(8, family.lower.length); i++) for (let j = i + 1; j < Math.min(8, family.lower.length); j++) pairs.push([i, j]);
      const chosen = pairs.findIndex(([i, j]) => i === state.axes[0] && j === state.axes[1]);
      choose(controls, "axes", pairs.map((pair) => pair.map((k) => family.coordinates[k]).join(" × ")), chosen, (k) => set({ axes: pairs[k] }));
    }
  };
  const fact = (list, name, value, kind = "") => {
    make("dt", {}, list, name);
    return make("dd", kind ? { class: kind } : {}, list, value);
  };
  const fillAside = (family, colours, note) => {
    aside.replaceChildren();
    if (colours) {
      make("div", {}, aside, NUMBER);
      const bar = make("canvas", { width: 256, height: 1, "aria-hidden": "true" }, aside);
      const context = bar.getContext("2d");
      for (let k = 0; k < 256; k++) {
        context.fillStyle = colours.css(colours.low + ((colours.high - colours.low) * k) / 255);
        context.fillRect(k, 0, 1, 1);
      }
      const ends = make("div", { class: "ends" }, aside);
      make("span", {}, ends, shown(colours.low, 2) + (colours.low < 0 ? " slack" : ""));
      make("span", {}, ends, colours.high > 0 ? `${shown(colours.high, 2)} violated` : "0 tight");
    }
    const list = make("dl", {}, aside);
    const row = family.rows[state.row];
    fact(list, row ? "row" : "constraint", row ? row.label : family.name, "formula");
    fact(list, "for all", `${[...new Set(family.coordinates.map((name) => name.replace(/\[\d+\]$/, "")))].join(", ")} ∈ ${family.set}`, "formula");
    if (data.kind !== "points") fact(list, "largest, proven over all of it", family.proven === null ? "nothing is proven" : `at most ${family.proven}`);
    const count = data.active.filter((active) => active.family === family.family).length;
    const some = count < family.active ? `the ${count} heaviest of ${family.active}` : String(count);
    fact(list, "active points", count ? `${some}; a larger dot has a larger multiplier` : "none");
    if (note) fact(list, "shown", note);
    if (stage.querySelector(".point.off")) fact(list, "faint", "active points off this slice, or of other rows");
  };
  const refresh = () => {
    const family = data.families[state.family];
    unread();
    fillControls(family);
    stage.replaceChildren();
    let colours = null;
    const legend = (found) => {
      colours = found;
    };
    const picture = { curve, map: heat, cloud }[family.picture];
    const note = picture(stage, family, state, Math.max(260, stage.clientWidth), legend);
    fillAside(family, colours, note);
  };
  // Bring an active point into view: its family, and the focus.
  const visit = (k) => {
    const wanted = data.families.findIndex((family) => family.family === data.active[k].family);
    if (wanted < 0) return;
    if (wanted !== state.family) set({ family: wanted, row: 0, map: 0, axes: [0, 1] });
    const mark = stage.querySelector(`.point[data-point="${k}"]`);
    if (!mark) return; // outside this slice
    mark.scrollIntoView({ block: "center" });
    mark.focus();
  };
  return { refresh, visit };
};
