// Draw everything, and again when the width, the colours or the medium change.

const violation = document.getElementById("violation");
const view = violation && data.families.length ? scene(violation) : null;
const convergence = document.getElementById("charts");

const redraw = () => {
  if (view) view.refresh();
  if (convergence) charts(convergence);
};

for (const table of document.querySelectorAll("table.sortable")) sortable(table);
for (const table of document.querySelectorAll("#dual table.sortable")) linked(table, (k) => view && view.visit(k));

redraw();
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
for (const event of ["beforeprint", "afterprint"]) addEventListener(event, redraw);
