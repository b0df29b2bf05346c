// Tables that sort by a column, and rows of the dual measure that show their point.

const sortable = (table) => {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.firstElementChild.addEventListener("click", () => {
      const numeric = head.dataset.sort === "number";
      const before = head.getAttribute("aria-sort");
      const falling = before ? before === "ascending" : numeric;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        if (!numeric) return cell.dataset.v ?? cell.textContent;
        return cell.dataset.v === undefined ? -Infinity : Number(cell.dataset.v);
      };
      const order = new Intl.Collator("en", { numeric: true });
      const compare = numeric ? (a, b) => key(a) - key(b) : (a, b) => order.compare(key(a), key(b));
      body.append(...[...body.rows].sort((a, b) => (falling ? -compare(a, b) : compare(a, b))));
    });
  });
};

const linked = (table, visit) => {
  const lit = (k, on) => {
    for (const mark of document.querySelectorAll(`[data-point="${k}"]`)) mark.classList.toggle("lit", on);
  };
  for (const row of table.querySelectorAll("tr[data-point]")) {
    const k = Number(row.dataset.point);
    row.addEventListener("pointerenter", () => lit(k, true));
    row.addEventListener("pointerleave", () => lit(k, false));
    row.addEventListener("click", () => visit(k));
  }
};
