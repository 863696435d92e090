// The frame: which view is shown, for which dataset, in which theme; keys and keyboard.

import { askKeyWith, currentDataset, get, keepKey, memory, useDataset } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { button, dialog, empty, failed, field, icon, select } from "./parts.js";
import { cloudOf, go, graphOf, link, place } from "./route.js";

const VIEWS = [
  { path: "preview", name: "Preview chunks", sign: "cut", key: "p", load: () => import("./views/preview.js") },
  { group: "Memory" },
  { path: "search", name: "Search", sign: "search", key: "s", load: () => import("./views/search.js") },
  { path: "graph", name: "Graph", sign: "graph", key: "g", ahead: graphOf, load: () => import("./views/graph.js") },
  { path: "artifacts", name: "Artifacts", sign: "tree", key: "a", load: () => import("./views/artifacts.js") },
  { path: "images", name: "Images", sign: "images", key: "m", load: () => import("./views/images.js") },
  { path: "series", name: "Series", sign: "series", key: "t", load: () => import("./views/series.js") },
  { path: "sessions", name: "Sessions", sign: "sessions", key: "e", load: () => import("./views/sessions.js") },
  { path: "vectors", name: "Vectors", sign: "vectors", key: "v", ahead: cloudOf, load: () => import("./views/vectors.js") },
  { path: "inferences", name: "Model calls", sign: "cost", key: "i", load: () => import("./views/inferences.js") },
  { group: "Server" },
  { path: "jobs", name: "Jobs", sign: "jobs", key: "j", load: () => import("./views/jobs.js") },
  { path: "settings", name: "Configuration", sign: "settings", key: "c", load: () => import("./views/settings.js") },
  { path: "entity", name: "Entity", hidden: true, in: "graph", load: () => import("./views/entity.js") },
];
const NOWHERE = { path: "nowhere", name: "No such page", load: async () => ({ default: (root, { heading }) => {
  fill(root, h("div", { class: "head" }, heading), empty("Nothing is at this address", "It may be misspelt, or of another version. All pages are in the list of views.", h("a", { class: "button", href: link("preview") }, "Preview chunks")));
} }) };
const main = h("main", { id: "main", tabindex: "-1" });
const nav = h("nav", { "aria-label": "Views" });
const datasets = h("div", {});
let shown = null; // the view that is drawn: {path, dataset, leave, update}
let turn = 0;

async function show() {
  const here = place();
  const view = VIEWS.find((one) => one.path && one.path === here.view) ?? NOWHERE;
  useDataset(here.query.get("dataset"));
  // A view may follow the address by itself, so that what is unfolded and scrolled in it stays.
  if (shown?.path === view.path && shown.dataset === currentDataset() && shown.update?.(here)) return;
  const mine = ++turn;
  if (view.ahead) memory.ahead(...view.ahead(here.query));
  shown?.leave?.();
  shown = null;
  drawNav(view);
  document.title = `${view.name} · unabridged`;
  const root = h("div", { class: ["view", `view-${view.path}`] });
  const heading = h("h1", { tabindex: "-1" }, view.name);
  try {
    const { default: draw } = await view.load();
    if (mine !== turn) return;
    fill(main, root);
    const made = await draw(root, { heading, ...here, still: () => mine === turn });
    const parts = typeof made === "function" ? { leave: made } : made ?? {};
    if (mine !== turn) { parts.leave?.(); return; }
    shown = { path: view.path, dataset: currentDataset(), ...parts };
  } catch (error) {
    if (mine !== turn) return;
    fill(main, heading, failed(error, "This view could not be shown: "));
    console.error(error);
  }
  if (!first && !main.contains(document.activeElement)) heading.focus({ preventScroll: true });
  if (!first) window.scrollTo(0, 0);
  first = false;
  announce(document.title);
  document.documentElement.dataset.ready = view.path;
  performance.mark("interactive"); // for those who measure
}
let first = true;

function drawNav(now) {
  const groups = [];
  for (const view of VIEWS) {
    if (view.group) groups.push(h("h2", {}, view.group));
    else if (!view.hidden) {
      const current = view.path === now.path || now.in === view.path;
      groups.push(h("li", {}, h("a", { href: link(view.path), "aria-current": current ? "page" : null, "aria-keyshortcuts": `g ${view.key}` }, icon(view.sign), view.name)));
    }
  }
  const parts = [];
  for (const one of groups) {
    if (one.tagName === "H2") parts.push(one, h("ul", {}));
    else { if (!parts.length) parts.push(h("ul", {})); parts[parts.length - 1].append(one); }
  }
  fill(nav, parts);
  const current = nav.querySelector("[aria-current]"); // on small windows the views stand in a row that scrolls
  if (current && nav.scrollWidth > nav.clientWidth) nav.scrollLeft = current.offsetLeft - nav.offsetLeft - nav.clientWidth / 2 + current.offsetWidth / 2;
  edges();
  drawDatasets();
}

/** Show that the row of views goes on, before what is in sight and after it. */
function edges() {
  const [left, more] = [nav.scrollLeft, nav.scrollWidth - nav.clientWidth];
  nav.classList.toggle("before", left > 4);
  nav.classList.toggle("after", left < more - 4);
}
nav.addEventListener("scroll", edges, { passive: true });
new ResizeObserver(edges).observe(nav);

let known = null;
async function drawDatasets() {
  const draw = () => {
    const names = [...new Set([currentDataset(), ...(known ?? [])])];
    const choose = (name) => { useDataset(name); const here = place(); go(here.view === "entity" ? "graph" : here.view, [], { dataset: name === "default" ? null : name }); };
    fill(datasets, select(names, currentDataset(), choose, { "aria-label": "Dataset" }));
  };
  draw();
  if (known !== null) return;
  known = [];
  try {
    const found = await get("v1/gb/datasets");
    known = (found.items ?? found).map((one) => one.name);
    draw();
  } catch { /* the memory may be off: the chosen name is enough */ }
}

// -- the theme ------------------------------------------------------------------------------------------

function theme(value) {
  if (value) document.documentElement.dataset.theme = value; else delete document.documentElement.dataset.theme;
  try { if (value) localStorage.setItem("unabridged.theme", value); else localStorage.removeItem("unabridged.theme"); } catch { /* for this page alone */ }
  dispatchEvent(new Event("theme"));
}

const themes = () => {
  const now = document.documentElement.dataset.theme ?? "";
  return select([["", "System theme"], ["light", "Light"], ["dark", "Dark"]], now, theme, { "aria-label": "Theme" });
};

// -- a key, where the server wants one --------------------------------------------------------------------

let asking = null;
askKeyWith((wrong) => {
  asking ??= new Promise((resolve) => {
    const input = h("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
    const form = h("form", { class: "stack", onSubmit: (event) => { event.preventDefault(); keepKey(input.value.trim()); shownDialog.returnValue = "kept"; shownDialog.close("kept"); } },
      h("p", {}, wrong ? "That key does not open this server: it is wrong, expired or revoked." : "This server asks for a key. It stays in this tab and is forgotten with it."),
      field("Key", input), h("p", { class: "small muted" }, "Whoever runs the server makes one: ", h("code", { class: "breaks" }, "unabridged serve keys add NAME --scope read")), h("div", { class: "line" }, button("Open", null, { kind: "main", type: "submit" })));
    const shownDialog = dialog("A key, please", form);
    shownDialog.addEventListener("close", () => { asking = null; resolve(shownDialog.returnValue === "kept"); });
    input.focus();
  });
  return asking;
});

// -- the keyboard -----------------------------------------------------------------------------------------

let went = 0;
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const view = Date.now() - went < 1200 && VIEWS.find((one) => one.key === event.key);
  if (view) { event.preventDefault(); went = 0; go(view.path); } 
  else if (event.key === "g") went = Date.now();
  else if (event.key === "/") { event.preventDefault(); focusSearch(); } 
  else if (event.key === "?") shortcuts();
});

const typing = (target) => target instanceof Element && Boolean(target.closest("input:not([type=range],[type=checkbox],[type=radio]), textarea, select, [contenteditable], dialog"));

function focusSearch() {
  const field = main.querySelector("input[type=search]");
  if (field) field.focus(); else go("search");
}

function shortcuts() {
  const rows = [["/", "Search"], ["?", "This help"], ...VIEWS.filter((one) => one.key).map((one) => [`g ${one.key}`, one.name]),
    ["arrows, + −, 0", "Graph and cloud: move, zoom, see all"], ["← →", "Plot and chunks: one further"]];
  const made = dialog("Keyboard", h("dl", { class: "keys" }, rows.map(([keys, what]) => [h("dt", {}, keys.split(" ").map((one) => [h("kbd", {}, one), " "])), h("dd", {}, what)])),
    h("div", {}, button("Close", () => made.close())));
}

// -- begin --------------------------------------------------------------------------------------------------

fill(document.body,
  h("button", { class: "skip", type: "button", onClick: () => (main.querySelector("h1") ?? main).focus() }, "Skip to content"),
  h("div", { class: "frame" },
    h("header", { class: "side" },
      h("a", { class: "brand", href: "#/", "aria-label": "unabridged, home" }, h("img", { src: new URL("../icon.svg", import.meta.url).href, width: 26, height: 26, alt: "" }), h("span", {}, "unabridged")),
      nav,
      h("div", { class: "foot" },
        h("label", { class: "field" }, h("span", {}, "Dataset"), datasets),
        h("label", { class: "field" }, h("span", {}, "Appearance"), themes()),
        h("div", { class: "line" }, button("Keyboard", shortcuts, { kind: "quiet little" })))),
    main),
  h("div", { id: "status", class: "out-of-sight", role: "status", "aria-live": "polite" }));
addEventListener("hashchange", show);
show();
