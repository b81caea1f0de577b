"use strict";
/* What every page has: the theme, tables that unfold, charts drawn when they come into view. */

const goldassay = {};

goldassay.unpack = async function (id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const raw = atob(element.textContent.trim());
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};

goldassay.make = function (tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  return element;
};

(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let kept = null;
  try { kept = localStorage.getItem("goldassay-theme"); } catch { /* a file may have no storage */ }
  const drawn = new Map();
  const PAPER = 660; /* pixels of a chart on paper */

  function theme(name) {
    root.dataset.theme = name;
    for (const [element, figure] of drawn) draw(element, figure);
  }
  goldassay.toggle = function () {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("goldassay-theme", next); } catch { /* shown now, forgotten later */ }
    theme(next);
  };
  theme(kept || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", (event) => { if (!kept) theme(event.matches ? "dark" : "light"); });
  document.getElementById("theme")?.addEventListener("click", goldassay.toggle);

  /* Tabs: one is open; a link to a section opens the tab that it is in. */
  const tabs = [...document.querySelectorAll("section.tab")];
  goldassay.open = function (id) {
    if (!tabs.some((tab) => tab.id === id) || root.dataset.tab === id) return;
    root.dataset.tab = id;
    for (const tab of tabs) tab.classList.toggle("open", tab.id === id);
    for (const link of document.querySelectorAll("nav[aria-label=Tabs] a")) {
      if (link.hash === `#${id}`) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    scrollTo(0, 0);
    dispatchEvent(new Event("goldassay-tab"));
  };
  function follow() {
    const target = document.getElementById(location.hash.slice(1).split("=")[0]);
    const tab = target?.closest("section.tab");
    if (tab) goldassay.open(tab.id);
    if (tab && tab !== target) target.scrollIntoView();
    else if (tab) scrollTo(0, 0);
  }
  if (tabs.length) {
    goldassay.open(tabs[0].id);
    follow();
    addEventListener("hashchange", follow);
    document.addEventListener("click", (event) => { /* a link to where the address already points changes no address */
      if (event.target.closest?.("a")?.getAttribute("href") === location.hash) dispatchEvent(new Event("hashchange"));
    });
  }

  /* What scrolls sideways can be reached by keyboard. */
  goldassay.reach = function () {
    for (const box of document.querySelectorAll(".scroll, pre")) {
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0; else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", goldassay.reach);
  addEventListener("goldassay-tab", goldassay.reach);
  addEventListener("goldassay-tab", () => { /* a chart that was drawn in a closed tab had no width */
    for (const element of drawn.keys()) if (element.offsetParent) Plotly.Plots.resize(element);
  });
  goldassay.reach();

  /* Tables: a click on a head sorts by its column, the largest first, then the smallest. */
  const keyOf = (cell) => {
    const text = (cell?.querySelector("[data-value]")?.dataset.value ?? cell?.textContent ?? "").trim();
    const number = parseFloat(text.replace("−", "-").replaceAll(",", "").replace(/^[^\d+.-]+(?=[\d.])/, ""));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };
  function sortBy(table, column) {
    const heads = table.tHead.rows[0].cells;
    const descending = heads[column].getAttribute("aria-sort") !== "descending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row.cells[column]), row]);
    const rank = (key) => (typeof key === "number" ? 0 : 1);
    rows.sort(([a], [b]) => rank(a) - rank(b) || (descending === (typeof a === "number") ? 1 : -1) * (a < b ? 1 : a > b ? -1 : 0));
    for (const [, row] of rows) { row.hidden = false; table.tBodies[0].append(row); }
    const more = table.parentElement.nextElementSibling;
    if (more?.matches("button.more")) more.remove();
  }
  for (const table of document.querySelectorAll("main table:not(.matrix)")) {
    if (!table.tHead || table.tBodies[0].rows.length < 2 || table.caption?.matches(".spoken")) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = goldassay.make("button", { type: "button", class: "sort" }, [...head.childNodes]);
      button.addEventListener("click", () => sortBy(table, column));
      head.append(button);
    });
  }

  /* The lines of a prompt: j and k go to the next and the one before. */
  if (document.querySelector("table.bars") && !document.getElementById("list")) addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.target.closest?.("input, textarea, select")) return;
    const lines = [...document.querySelectorAll("table.bars tbody tr")];
    const at = lines.indexOf(document.activeElement?.closest("tr"));
    lines[Math.max(0, Math.min(lines.length - 1, at + step))].focus();
  });

  for (const button of document.querySelectorAll("button.more")) {
    button.addEventListener("click", () => {
      const table = button.previousElementSibling;
      for (const row of table.querySelectorAll(".rest")) row.hidden = false;
      button.remove();
    });
  }

  /* Charts: the library is unpacked once, when the first chart is near the screen. */
  const places = [...document.querySelectorAll("[data-chart]")];
  let figures = null;
  let library = null;

  function load() {
    library ??= (async () => {
      figures = JSON.parse(await goldassay.unpack("charts-data"));
      const script = document.createElement("script");
      if (root.dataset.library) {
        script.src = root.dataset.library;
        const loaded = new Promise((done, failed) => { script.onload = done; script.onerror = failed; });
        document.head.append(script);
        await loaded;
      } else {
        script.textContent = await goldassay.unpack("plotly-source");
        document.head.append(script);
      }
    })();
    return library;
  }

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name === "muted" ? "soft" : name}`).trim();

  function coloured(value) {
    if (Array.isArray(value)) return value.map(coloured);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) =>
        [key, key === "color" && typeof inner === "string" ? colour(inner) || inner : coloured(inner)]));
    }
    return value;
  }

  async function draw(element, figure) {
    const ink = colour("ink");
    const axis = { gridcolor: colour("rule"), linecolor: colour("rule"), zerolinecolor: colour("soft"), automargin: true };
    const titled = (own) => ({ ...own, title: typeof own?.title === "string" ? { text: own.title } : own?.title });
    const layout = coloured(figure.layout);
    const paper = root.dataset.print ? { width: PAPER } : {};
    await Plotly.react(element, coloured(figure.data), {
      ...layout,
      ...paper,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: ink, family: "system-ui, sans-serif", size: 13 },
      margin: { l: 60, r: 20, t: 14, b: 46 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hoverlabel: { bgcolor: colour("sheet"), bordercolor: colour("rule"), font: { color: ink } },
      xaxis: { ...axis, ...titled(layout.xaxis) },
      yaxis: { ...axis, ...titled(layout.yaxis) },
    }, { displayModeBar: false, responsive: !root.dataset.print, showSendToCloud: false });
    drawn.set(element, figure);
  }

  async function show(element) {
    if (!figures || !window.Plotly) await load(); /* without waiting where it is there: a printer does not wait */
    const figure = figures[Number(element.dataset.chart)];
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", figure.label);
    await draw(element, figure);
    element.dataset.drawn = "yes";
  }
  goldassay.charts = () => Promise.all(places.filter((one) => !one.dataset.drawn).map(show));

  if (places.length && document.getElementById("charts-data")) {
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) {
          near.unobserve(entry.target);
          show(entry.target);
        }
      }
    }, { rootMargin: "300px" });
    const begin = () => { places.forEach((one) => near.observe(one)); setTimeout(load, 1500); /* ready for printing */ };
    if (document.getElementById("list")) addEventListener("goldassay-ready", () => setTimeout(begin, 50), { once: true });
    else begin(); /* the list of examples comes first: the library takes a second to start */
  }

  /* Paper is light and narrow: every tab is shown, and every chart is drawn as wide as the page. */
  let before = null;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    root.dataset.print = "yes";
    if (window.Plotly && figures) for (const element of places) show(element);
  });
  addEventListener("afterprint", () => {
    delete root.dataset.print;
    theme(before ?? "light");
  });
})();
