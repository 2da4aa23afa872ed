// Sort a table by the column whose head is clicked: numbers by value, without small print, and missing ones last.
(() => {
  const numberIn = (cell) => parseFloat(cell.firstChild?.textContent.replace(/,/g, "").replace("–", "") ?? "");

  const comparator = (column, descending) => (leftRow, rightRow) => {
    const cells = [leftRow, rightRow].map((row) => row.cells[column]);
    const [left, right] = cells.map(numberIn);
    if (isNaN(left) !== isNaN(right)) return isNaN(left) ? 1 : -1;
    const order = isNaN(left) ? cells[0].textContent.localeCompare(cells[1].textContent) : left - right;
    return descending ? -order : order;
  };

  const makeSortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        for (const sortedHead of heads) sortedHead.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort(comparator(column, descending)));
      });
    });
  };

  document.querySelectorAll("table").forEach(makeSortable);
})();
