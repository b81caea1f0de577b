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
  let shown = null; /* paper is light, and so are the marks and the charts on it */
  addEventListener("beforeprint", () => { shown = root.dataset.theme; if (shown === "dark") theme("light"); });
  addEventListener("afterprint", () => { if (shown === "dark") theme("dark"); });

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
      script.textContent = await goldassay.unpack("plotly-source");
      document.head.append(script);
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
    await Plotly.react(element, coloured(figure.data), {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: ink, family: "system-ui, sans-serif", size: 13 },
      margin: { l: 60, r: 20, t: 14, b: 46 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hoverlabel: { bgcolor: colour("sheet"), bordercolor: colour("rule"), font: { color: ink } },
      xaxis: { ...axis, ...titled(layout.xaxis) },
      yaxis: { ...axis, ...titled(layout.yaxis) },
    }, { displayModeBar: false, responsive: true, showSendToCloud: false });
    drawn.set(element, figure);
  }

  async function show(element) {
    await load();
    const figure = figures[Number(element.dataset.chart)];
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", `${figure.label}; the numbers stand in the tables of this page`);
    await draw(element, figure);
    element.dataset.drawn = "yes";
  }
  goldassay.charts = () => Promise.all(places.filter((one) => !one.dataset.drawn).map(show));

  if (places.length && document.getElementById("plotly-source")) {
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) {
          near.unobserve(entry.target);
          show(entry.target);
        }
      }
    }, { rootMargin: "300px" });
    const begin = () => places.forEach((one) => near.observe(one));
    if (document.getElementById("list")) addEventListener("goldassay-ready", () => setTimeout(begin, 50), { once: true });
    else begin(); /* the list of examples comes first: the library takes a second to start */
    addEventListener("beforeprint", goldassay.charts);
  }
})();
