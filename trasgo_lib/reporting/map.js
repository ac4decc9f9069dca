"use strict";
(() => {
  const svg = document.querySelector("#map svg");
  const told = document.getElementById("told");
  const cells = [...svg.querySelectorAll("[id^=cell-]")];
  const whole = svg.getAttribute("viewBox").split(" ").map(Number);
  let view = [...whole];
  let chosen = null;
  const middle = (cell) => {
    const box = cell.getBBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const rowOf = (cell) => document.getElementById("row-" + cell.id.slice("cell-".length));
  const show = () => svg.setAttribute("viewBox", view.join(" "));
  function choose(cell, scroll) {
    if (chosen) {
      chosen.classList.remove("chosen");
      chosen.tabIndex = -1;
      const before = rowOf(chosen);
      if (before) before.classList.remove("chosen");
    }
    chosen = cell;
    cell.classList.add("chosen");
    cell.tabIndex = 0;
    cell.parentNode.append(cell);
    told.textContent = cell.querySelector("title").textContent;
    const row = rowOf(cell);
    if (row) {
      row.classList.add("chosen");
      if (scroll) row.scrollIntoView({ block: "nearest" });
    }
  }
  function zoom(factor) {
    const at = chosen ? middle(chosen) : [view[0] + view[2] / 2, view[1] + view[3] / 2];
    const wide = Math.min(whole[2], view[2] * factor);
    const high = (wide / whole[2]) * whole[3];
    const keep = (centre, length, most) => Math.max(0, Math.min(centre - length / 2, most - length));
    view = [keep(at[0], wide, whole[2]), keep(at[1], high, whole[3]), wide, high];
    show();
  }
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function neighbour(cell, [across, down]) {
    const from = middle(cell);
    let best = null;
    let least = Infinity;
    for (const other of cells) {
      if (other === cell) continue;
      const to = middle(other);
      const along = (to[0] - from[0]) * across + (to[1] - from[1]) * down;
      const aside = Math.abs((to[0] - from[0]) * down) + Math.abs((to[1] - from[1]) * across);
      if (along <= 0 || aside > 2 * along) continue;
      if (along + aside < least) {
        least = along + aside;
        best = other;
      }
    }
    return best;
  }
  svg.addEventListener("click", (event) => {
    const cell = event.target.closest("[id^=cell-]");
    if (cell) choose(cell, false);
  });
  svg.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 0.6 : 1 / 0.6);
    if (!(event.key in ways) || !chosen) return;
    event.preventDefault();
    const next = neighbour(chosen, ways[event.key]);
    if (next) {
      choose(next, false);
      next.focus({ preventScroll: true });
    }
  });
  for (const row of document.querySelectorAll("[id^=row-]")) {
    const cell = document.getElementById("cell-" + row.id.slice("row-".length));
    if (!cell) continue;
    row.tabIndex = 0;
    row.addEventListener("click", () => choose(cell, false));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter") choose(cell, false);
    });
  }
  for (const [name, factor] of [["nearer", 0.6], ["farther", 1 / 0.6]]) {
    document.getElementById(name).addEventListener("click", () => zoom(factor));
  }
  document.getElementById("tools").hidden = false;
  const first = document.querySelector("[id^=row-]");
  const start = first && document.getElementById("cell-" + first.id.slice("row-".length));
  choose(start || cells[0], false);
})();
