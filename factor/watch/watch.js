"use strict";
// Keeps a page of gdsvd watch up to date: whenever a run changes the page is loaded again, and the parts of it that differ
// are put in the place of what is shown. Without this script the page loads itself every few seconds.
(() => {
  const connection = document.getElementById("connection");
  const run = new URLSearchParams(location.search).get("run");
  const sorted = new Map(); // by the id of a table: column and direction

  const value = (cell) => {
    const data = cell.querySelector("data");
    const number = Number(data ? data.value : cell.textContent);
    return Number.isNaN(number) ? cell.textContent : number;
  };
  const sort = (table) => {
    const by = sorted.get(table.id);
    if (!by) return;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const x = value(a.cells[by.column]), y = value(b.cells[by.column]);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return by.down ? -order : order;
    });
    table.tBodies[0].append(...rows);
    [...table.tHead.rows[0].cells].forEach((th, i) =>
      i === by.column ? th.setAttribute("aria-sort", by.down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
  };
  const prepare = () => {
    for (const table of document.querySelectorAll("table[id]")) {
      [...table.tHead.rows[0].cells].forEach((th, column) => {
        if (th.querySelector("button")) return;
        const button = document.createElement("button");
        button.type = "button";
        button.append(...th.childNodes);
        th.append(button);
        button.addEventListener("click", () => {
          const by = sorted.get(table.id);
          sorted.set(table.id, { column, down: by && by.column === column ? !by.down : false });
          sort(table);
        });
      });
      sort(table);
    }
  };
  // Puts the children of one element in the place of those of another; tables keep their heads and with them the focus.
  const replace = (now, next) => {
    const table = now.querySelector("table[id]"), other = next.querySelector("table[id]");
    if (table && other && table.id === other.id) {
      const focus = document.activeElement;
      const href = table.tBodies[0].contains(focus) && focus.getAttribute("href");
      table.tBodies[0].replaceWith(other.tBodies[0]);
      if (href) table.querySelector(`a[href="${CSS.escape(href)}"]`)?.focus();
      return;
    }
    now.replaceChildren(...next.childNodes);
  };
  const shown = new Map();
  const update = (page) => {
    const parts = [...page.querySelectorAll("[data-live]")];
    const ids = (all) => all.map((e) => e.id).join(" ");
    if (ids(parts) !== ids([...document.querySelectorAll("[data-live]")])) {
      document.querySelector("main").replaceWith(page.querySelector("main"));
      document.title = page.title;
      shown.clear();
      prepare();
      return;
    }
    for (const next of parts) {
      const text = next.innerHTML;
      if (shown.get(next.id) === text) continue;
      shown.set(next.id, text);
      replace(document.getElementById(next.id), next);
    }
    prepare();
  };
  let loading = false, again = false;
  const load = async () => {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.ok) update(new DOMParser().parseFromString(await answer.text(), "text/html"));
      say("");
    } catch {
      lost();
    }
    setTimeout(() => {
      loading = false;
      if (again) { again = false; load(); }
    }, 1000);
  };
  const say = (text) => {
    const line = document.getElementById("connection") || connection;
    if (line.textContent !== text) line.textContent = text;
  };
  const lost = () => say("The connection is lost: what is shown is as it was. Trying again …");

  let stream;
  const follow = () => {
    stream = new EventSource("/api/events" + (run ? "?run=" + encodeURIComponent(run) : ""));
    stream.addEventListener("run", load);
    stream.addEventListener("error", () => {
      lost();
      if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
    });
    stream.addEventListener("open", () => say(""));
  };
  for (const part of document.querySelectorAll("[data-live]")) shown.set(part.id, part.innerHTML);
  prepare();
  follow();
  addEventListener("pagehide", () => stream.close());
})();
