// The report: pictures are drawn, and the table of trials sorts by its headings.
(() => {
  "use strict";

  function key(row, column) {
    const cell = row.cells[column];
    return cell.dataset.number === undefined ? cell.textContent : Number(cell.dataset.number);
  }

  // what is empty comes last in both directions
  function compared(a, b, turn) {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return turn * (a - b);
    return turn * String(a).localeCompare(String(b), undefined, { numeric: true });
  }

  function sort(table, heading) {
    const headings = [...table.tHead.rows[0].cells];
    const column = headings.indexOf(heading);
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const each of headings) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => compared(key(a, column), key(b, column), down ? -1 : 1));
    table.tBodies[0].append(...rows);
    const said = `Sorted by ${heading.textContent.trim()}, ${down ? "highest" : "lowest"} first.`;
    document.getElementById("sorted").textContent = said;
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    table.tHead.addEventListener("click", (event) => {
      const heading = event.target.closest("th");
      if (heading) sort(table, heading);
    });
  }

  // what is folded is printed too
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details:not([open])")) {
      folded.open = true;
      folded.dataset.folded = "";
    }
  });
  addEventListener("afterprint", () => {
    for (const folded of document.querySelectorAll("details[data-folded]")) {
      folded.open = false;
      delete folded.dataset.folded;
    }
  });

  if (window.hentropy) window.hentropy.drawAll();
})();
