// Heat maps: colours with their turning point at zero, interpolation, contour lines.

// Blue is slack, red is violated, white is tight: the same on light and dark pages, and as in plots.
const SHADES = ["#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f"];

const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));

// Colours for the values between low and high, as plots of this toolkit have them: the range is cut where nothing is, and
// a power below one opens up the shades near zero, where it is decided which points are active.
const palette = (low, high) => {
  low = Math.min(low, 0);
  high = Math.max(high, 0);
  const reach = Math.max(-low, high) || 1;
  if (high < 1e-3 * reach) high = 0;
  if (low > -1e-3 * reach) low = 0;
  if (low === high) low = -reach;
  const stops = SHADES.map(rgb);
  const table = new Uint8ClampedArray(3 * 1024);
  for (let k = 0; k < 1024; k++) {
    const share = (low + ((high - low) * k) / 1023) / reach;
    const place = (0.5 + 0.47 * Math.sign(share) * Math.abs(share) ** 0.7) * (stops.length - 1);
    const i = Math.min(Math.floor(place), stops.length - 2);
    for (let c = 0; c < 3; c++) table[3 * k + c] = stops[i][c] + (place - i) * (stops[i + 1][c] - stops[i][c]);
  }
  const index = (v) => 3 * Math.max(0, Math.min(1023, Math.round((1023 * (v - low)) / (high - low))));
  const css = (v) => {
    const k = index(v);
    return `rgb(${table[k]} ${table[k + 1]} ${table[k + 2]})`;
  };
  return { low, high, table, index, css };
};

const extent = (values) => {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (Number.isFinite(v)) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
  }
  return low > high ? [0, 0] : [low, high];
};

// The value at (u, v) in [0, 1]², v upwards, of a square mesh; NaN where a neighbour is.
const between = (values, side, u, v) => {
  const x = Math.max(0, Math.min(u * (side - 1), side - 1));
  const y = Math.max(0, Math.min(v * (side - 1), side - 1));
  const i = Math.min(Math.floor(x), side - 2);
  const j = Math.min(Math.floor(y), side - 2);
  const k = j * side + i;
  const [s, t] = [x - i, y - j];
  return (1 - t) * ((1 - s) * values[k] + s * values[k + 1]) + t * ((1 - s) * values[k + side] + s * values[k + side + 1]);
};

// How far inside the index set: 1 within, 0 without, in between along the boundary.
const coverage = (mask, side) => {
  if (!mask) return () => 1;
  const inside = new Float32Array(side * side);
  for (let k = 0; k < inside.length; k++) inside[k] = (k & 1 ? mask[k >> 1] & 15 : mask[k >> 1] >> 4) / 15;
  const cover = (u, v) => between(inside, side, u, v);
  cover.outline = (context, width, height) => contour(context, inside, side, 0.5, () => 1, width, height);
  return cover;
};

const paint = (canvas, values, side, cover, colours) => {
  const { width, height } = canvas;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let row = 0, at = 0; row < height; row++) {
    const v = 1 - (row + 0.5) / height;
    for (let column = 0; column < width; column++, at += 4) {
      const u = (column + 0.5) / width;
      const value = between(values, side, u, v);
      if (Number.isNaN(value)) continue;
      const k = colours.index(value);
      image.data[at] = colours.table[k];
      image.data[at + 1] = colours.table[k + 1];
      image.data[at + 2] = colours.table[k + 2];
      image.data[at + 3] = 255 * Math.max(0, Math.min(1, 5 * cover(u, v) - 2));
    }
  }
  context.putImageData(image, 0, 0);
};

// Lines along which the violation is the same, by linear interpolation on the sides of each cell.
const contour = (context, values, side, level, cover, width, height) => {
  const cut = (a, b) => (level - a) / (b - a);
  context.beginPath();
  for (let j = 0; j + 1 < side; j++) {
    for (let i = 0; i + 1 < side; i++) {
      const k = j * side + i;
      const [a, b, c, d] = [values[k], values[k + 1], values[k + side + 1], values[k + side]];
      const ends = [];
      if (a < level !== b < level) ends.push([i + cut(a, b), j]);
      if (b < level !== c < level) ends.push([i + 1, j + cut(b, c)]);
      if (d < level !== c < level) ends.push([i + cut(d, c), j + 1]);
      if (a < level !== d < level) ends.push([i, j + cut(a, d)]);
      if (ends.length < 2 || cover((i + 0.5) / (side - 1), (j + 0.5) / (side - 1)) < 0.5) continue;
      for (let e = 0; e + 1 < ends.length; e += 2) {
        for (const [n, [x, y]] of [ends[e], ends[e + 1]].entries()) {
          context[n ? "lineTo" : "moveTo"]((x / (side - 1)) * width, (1 - y / (side - 1)) * height);
        }
      }
    }
  }
  context.stroke();
};

// The boundary of the index set, so that tight points on it do not melt into the page.
const outline = (canvas, cover, ratio) => {
  if (!cover.outline) return;
  const context = canvas.getContext("2d");
  context.lineWidth = ratio;
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--tight");
  cover.outline(context, canvas.width, canvas.height);
};

const contours = (canvas, values, side, cover, ratio) => {
  const context = canvas.getContext("2d");
  const [low, high] = extent(values);
  if (!(high - low > 1e-6 * Math.max(Math.abs(low), Math.abs(high)))) return; // what is left is rounding
  context.lineWidth = 0.7 * ratio;
  context.strokeStyle = "rgb(255 255 255 / 55%)";
  for (const level of ticks(low, high, 9)) contour(context, values, side, level, cover, canvas.width, canvas.height);
  if (high > 1e-3 * Math.max(Math.abs(low), high) && low < 0) {
    context.lineWidth = 1.6 * ratio;
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--broken");
    contour(context, values, side, 0, cover, canvas.width, canvas.height);
  }
};
