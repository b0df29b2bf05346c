// The iterations: bounds, violation, cuts and time, each in a small chart; all can be read with pointer and keyboard.

// At most five whole powers of ten, evenly spaced.
const powers = (low, high) => {
  const step = Math.max(1, Math.ceil((high - low) / 4));
  const found = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9; v += step) found.push(v);
  return found;
};

const chart = (root, title, lines, options = {}) => {
  const box = make("div", {}, root);
  make("h3", {}, box, title);
  const key = make("p", { class: "key" }, box);
  const steps = data.history.iteration;
  const usable = (v) => v !== null && Number.isFinite(v) && (!options.log || v > 0);
  const drawn = lines.filter((line) => line.values.some(usable));
  for (const line of drawn) {
    const entry = make("span", {}, key);
    const swatch = make("i", {}, entry);
    swatch.style.borderTopColor = `var(${line.colour})`;
    if (line.dashed) swatch.style.borderTopStyle = "dashed";
    entry.append(line.name);
  }
  if (!drawn.length) {
    make("p", { class: "note" }, box, options.empty || "Nothing to draw.");
    return;
  }
  const width = Math.max(260, box.clientWidth);
  const height = 210;
  const frame = { left: 66, right: width - 10, top: 8, bottom: height - 42 };
  const svg = draw("svg", { width, height, tabindex: 0, role: "group", "aria-label": `${title} by iteration; arrow keys read it` }, box);
  const level = (v) => (options.log ? Math.log10(v) : v);
  let [low, high] = extent(drawn.flatMap((line) => line.values.filter(usable).map(level)));
  if (options.zero) low = Math.min(low, 0);
  if (options.log && high - low < 2.5) [low, high] = [Math.floor(low), Math.ceil(high)];
  if (high === low) [low, high] = options.log ? [low - 1, high + 1] : [low - 0.5, high + 0.5];
  const pad = options.log ? 0.04 * (high - low) : 0;
  const x = linear(steps[0] - 0.5, steps[steps.length - 1] + 0.5, frame.left, frame.right);
  const y = linear(low - pad, high + (pad || 0.05 * (high - low)), frame.bottom, frame.top);
  const levels = options.log ? powers(low, high) : ticks(low, high, 4);
  for (const v of levels) draw("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y(v), y2: y(v) }, svg);
  leftAxis(svg, y, levels, frame.left, options.log ? (v) => `10${raised(v)}` : (v) => shown(Number(v.toPrecision(10)), options.digits || 3));
  draw("line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }, svg);
  const whole = ticks(steps[0], steps[steps.length - 1], Math.min(8, steps.length)).filter((v) => Number.isInteger(v));
  bottomAxis(svg, x, whole, frame.bottom, "iteration", (frame.left + frame.right) / 2);
  const wide = Math.max(1, Math.min(26, 0.7 * (x(1) - x(0))));
  for (const line of drawn) {
    let path = "";
    let pen = "M";
    line.values.forEach((v, k) => {
      if (!usable(v)) return (pen = "M");
      const [px, py] = [x(steps[k]), y(level(v))];
      if (line.bars) return draw("rect", { x: px - wide / 2, y: py, width: wide, height: Math.max(0, y(0) - py), rx: 2, fill: `var(${line.colour})`, "fill-opacity": 0.75 }, svg);
      path += `${pen}${px.toFixed(1)} ${py.toFixed(1)}`;
      pen = "L";
      if (steps.length <= 120) draw("circle", { cx: px, cy: py, r: 3, fill: `var(${line.colour})` }, svg);
    });
    if (path) draw("path", { d: path, fill: "none", stroke: `var(${line.colour})`, "stroke-width": 2, ...(line.dashed ? { "stroke-dasharray": "5 3" } : {}) }, svg);
  }
  const cursor = draw("line", { class: "cursor", y1: frame.top, y2: frame.bottom, visibility: "hidden" }, svg);
  readable(
    svg,
    [x(steps[0]), frame.top + 20],
    [steps.length > 1 ? x(steps[1]) - x(steps[0]) : 1, 0],
    (px) => {
      const wanted = x.invert(px);
      let k = 0;
      steps.forEach((step, n) => {
        if (Math.abs(step - wanted) < Math.abs(steps[k] - wanted)) k = n;
      });
      const rows = lines.map((line) => [line.name, shown(line.values[k], line.digits || 3)]);
      return { x: x(steps[k]), y: frame.top + 20, title: `iteration ${steps[k]}`, rows: [...rows, ...(options.more ? options.more(k) : [])] };
    },
    (found) => {
      cursor.setAttribute("visibility", found ? "visible" : "hidden");
      if (found) for (const end of ["x1", "x2"]) cursor.setAttribute(end, found.x);
    },
  );
};

const charts = (root) => {
  const { lower, upper, value, violation, bound, cuts, rows, seconds } = data.history;
  root.replaceChildren();
  if (!data.history.iteration.length) return;
  const from = (values, sign) => values.map((v) => (v === null || data.value === null ? null : sign * (v - data.value)));
  if (data.value === null) {
    chart(root, "Value of the relaxation", [{ name: "objective", values: value, colour: "--slack", digits: 8 }], { empty: "The relaxations had no finite value." });
  } else {
    const lines = [
      { name: "value − relaxation", values: from(value, -1).map((v) => (v === null ? null : Math.abs(v))), colour: "--tight", dashed: true },
      { name: "value − lower bound", values: from(lower, -1), colour: "--slack" },
      { name: "upper bound − value", values: from(upper, 1), colour: "--broken" },
    ];
    const more = (k) => [["relaxation", shown(value[k], 10)], ["lower", shown(lower[k], 10)], ["upper", shown(upper[k], 10)]];
    chart(root, "Distance from the value", lines, { log: true, more, empty: "The relaxations had the value from the first one on." });
  }
  const found = [
    { name: "largest found", values: violation, colour: "--point" },
    { name: "proven for all index points", values: bound, colour: "--slack", dashed: true },
  ];
  chart(root, "Violation", found, { log: true, empty: "No violation was found in any iteration." });
  const held = [
    { name: "cuts held by the master", values: rows, colour: "--slack" },
    { name: "new cuts", values: cuts, colour: "--point", bars: true },
  ];
  chart(root, "Cuts", held, { zero: true });
  const spent = seconds.map((s, k) => (k ? s - seconds[k - 1] : s));
  const more = (k) => [["seconds so far", shown(seconds[k], 3)]];
  chart(root, "Seconds", [{ name: "seconds in this iteration", values: spent, colour: "--tight", bars: true }], { zero: true, more });
};
