// Keeps a page of gdsvd watch up to date: whenever a run changes the page is loaded again, and the parts of it that differ
// are put in the place of what is shown. Without this script the page loads itself every few seconds.
(() => {
  "use strict";
  const connection = document.getElementById("connection");
  const run = new URLSearchParams(location.search).get("run");
  // Puts the children of one element in the place of those of another; a table without charts beside it keeps its head and with it the focus.
  const replace = (now, next) => {
    const table = now.querySelector("table[id]"), other = next.querySelector("table[id]");
    if (table && other && table.id === other.id && !next.querySelector("svg")) {
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
      sortTables();
      return;
    }
    for (const next of parts) {
      const text = next.innerHTML;
      if (shown.get(next.id) === text) continue;
      shown.set(next.id, text);
      replace(document.getElementById(next.id), next);
    }
    sortTables();
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
  sortTables();
  follow();
  addEventListener("pagehide", () => stream.close());
})();
