// Elements, numbers and axes: what every picture needs.

const data = JSON.parse(document.getElementById("data").textContent);

const make = (tag, attributes = {}, parent = null, text = null) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  if (parent) parent.append(node);
  return node;
};

const draw = (tag, attributes = {}, parent = null, text = null) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  if (parent) parent.append(node);
  return node;
};

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const floats = (text, Kind = Float32Array) => new Kind(bytes(text).buffer);

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raised = (n) => (n < 0 ? "⁻" : "") + [...String(Math.abs(n))].map((d) => SUPERSCRIPTS[d]).join("");

// A number as the text of the page writes it: a true minus sign, powers of ten raised.
const shown = (value, digits = 4) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size >= Math.max(digits, 6)) {
    const [head, power] = value.toExponential(digits - 1).split("e");
    const factor = { 1: "", "-1": "−" }[Number(head)] ?? `${String(Number(head)).replace("-", "−")}\u00a0·\u00a0`;
    return `${factor}10${raised(Number(power))}`;
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
};

const pointText = (point, digits = 6) =>
  point.length === 1 ? shown(point[0], digits) : `(${point.map((v) => shown(v, digits)).join(", ")})`;

// About `count` round numbers between low and high.
const ticks = (low, high, count) => {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
};

const linear = (from, to, start, end) => {
  const width = to - from || 1;
  const scale = (v) => start + ((v - from) / width) * (end - start);
  scale.invert = (p) => from + ((p - start) / (end - start)) * width;
  return scale;
};

const bottomAxis = (parent, scale, values, y, title, middle) => {
  const texts = values.map((v) => Number(v.toPrecision(6)));
  for (const v of texts) {
    draw("line", { class: "axis", x1: scale(v), x2: scale(v), y1: y, y2: y + 4 }, parent);
    draw("text", { x: scale(v), y: y + 17, "text-anchor": "middle" }, parent, String(v).replace("-", "−"));
  }
  draw("text", { x: middle, y: y + 36, "text-anchor": "middle" }, parent, title);
};

const leftAxis = (parent, scale, values, x, write = (v) => String(Number(v.toPrecision(6))).replace("-", "−")) => {
  for (const v of values) {
    draw("line", { class: "axis", x1: x - 4, x2: x, y1: scale(v), y2: scale(v) }, parent);
    draw("text", { x: x - 8, y: scale(v) + 4, "text-anchor": "end" }, parent, write(v));
  }
};
