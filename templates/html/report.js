
"use strict";
// Sorts a ledger by the column whose head is pressed, and opens every ledger for print.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => {
        const cell = row.cells[column];
        return "value" in cell.dataset ? cell.dataset.value : cell.textContent;
      };
      const isNumber = head.classList.contains("number");
      const order = (one, other) => {
        const a = value(one), b = value(other);
        if (isNumber && (a === "" || b === "")) return (a === "") - (b === "");
        const difference = isNumber ? Number(a) - Number(b) : a.localeCompare(b, "en");
        return down ? -difference : difference;
      };
      body.append(...[...body.rows].sort(order));
    });
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((ledger) => { ledger.open = true; }));
