// What is under the pointer, or has the keyboard's focus: one tooltip for the page.

const tip = document.getElementById("tip");
const said = document.getElementById("said");

// Show a title and rows [name, value] beside a place of the window.
const read = (x, y, title, rows) => {
  tip.replaceChildren();
  if (title) make("b", {}, tip, title);
  const table = make("table", {}, tip);
  for (const [name, value] of rows) {
    const line = make("tr", {}, table);
    make("td", {}, line, name);
    make("td", {}, line, value);
  }
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const left = x + 16 + width > room ? x - 16 - width : x + 16;
  const top = y - 12 - height < 4 ? y + 16 : y - 12 - height;
  tip.style.left = `${scrollX + Math.max(4, Math.min(left, room - width - 4))}px`;
  tip.style.top = `${scrollY + top}px`;
};

const unread = () => {
  tip.hidden = true;
};

const say = (title, rows) => {
  said.textContent = [title, ...rows.map((row) => row.join(" "))].filter(Boolean).join(", ");
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") unread();
});

// Let a picture be read anywhere, with the pointer and with the arrow keys. `at(px, py)` gives {x, y, title, rows} for a
// place in the picture, moved to where there is something to read, or null; `moved` draws the cursor there.
const readable = (svg, start, step, at, moved) => {
  let place = null;
  const show = (px, py, aloud) => {
    const found = at(px, py);
    moved(found);
    if (!found) return unread();
    place = [found.x, found.y];
    const frame = svg.getBoundingClientRect();
    read(frame.left + found.x, frame.top + found.y, found.title, found.rows);
    if (aloud) say(found.title, found.rows);
  };
  const leave = () => {
    moved(null);
    unread();
  };
  svg.addEventListener("pointermove", (event) => {
    if (event.target.classList.contains("point")) return moved(null);
    const frame = svg.getBoundingClientRect();
    show(event.clientX - frame.left, event.clientY - frame.top, false);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("focus", () => {
    if (svg.matches(":focus-visible")) show(...(place || start), true);
  });
  svg.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!(event.key in moves) || event.target !== svg) return;
    event.preventDefault();
    const [dx, dy] = moves[event.key];
    const [x, y] = place || start;
    const far = event.shiftKey ? 5 : 1;
    show(x + far * step[0] * dx, y + far * step[1] * dy, true);
  });
};

// A mark that tells about itself when it is pointed at or focused.
const speaking = (mark, title, rows) => {
  mark.setAttribute("tabindex", "0");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", [title, ...rows.map((row) => row.join(" "))].filter(Boolean).join(", "));
  const show = () => {
    const frame = mark.getBoundingClientRect();
    read(frame.left + frame.width / 2, frame.top + frame.height / 2, title, rows);
  };
  mark.addEventListener("pointerenter", show);
  mark.addEventListener("pointerleave", unread);
  mark.addEventListener("focus", show);
  mark.addEventListener("blur", unread);
  return mark;
};
