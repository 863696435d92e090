// The graph: entities and the facts between them; moved, zoomed, filtered by type and by time.

import { memory } from "../api.js";
import { announce, calm, debounced, fill, h, unique } from "../dom.js";
import { date, number, plural } from "../format.js";
import { button, empty, field, icon, iconButton, shown, tone } from "../parts.js";
import { go, graphOf, link } from "../route.js";
import { Scene } from "../scene.js";
import { factLine } from "./facts.js";

const LISTED = 200; // entities in the list beside the drawing
const PLAYED = 12_000; // milliseconds from the first fact to the last

export default async function graph(root, { heading, query, still }) {
  const stage = h("div", { class: "stage panel" });
  const side = h("aside", { class: "stack tight", "aria-label": "Filters and selection" });
  const count = h("p", { class: "muted", "aria-live": "polite" });
  fill(root, h("div", { class: "head" }, heading, count), h("div", { class: "graph-layout" }, stage, side));
  let view = null;
  await shown(stage, memory.get(...graphOf(query)), (data) => {
    if (!data.nodes.id.length) {
      return empty("No entities yet", "When a text is remembered, the people, places and things in it appear here, with the facts that join them.", h("a", { class: "button", href: link("preview") }, "Preview how a text is cut"));
    }
    view = drawn(data, side, count, query);
    return view.element;
  }, { what: "Laying out the graph …", still });
  view?.scene.show(view.columns);
  view?.begin();
  return () => view?.close();
}

function drawn(data, side, count, query) {
  const { nodes, edges } = data;
  const types = nodes.types.map((name, at) => ({ name, at, on: true, count: nodes.type.filter((one) => one === at).length }));
  const start = edges.valid_at.map((at, index) => at ?? edges.created_at[index]);
  const now = Date.now();
  const first = start.reduce((a, b) => Math.min(a, b), now);
  const last = Math.max(now, start.reduce((a, b) => Math.max(a, b), 0));
  let moment = null; // all times
  const near = query.get("around") && nodes.name[nodes.id.indexOf(query.get("around"))];
  const about = h("div", { class: "stack tight" });
  const scene = new Scene({
    label: `Graph of ${plural(nodes.id.length, "entity", "entities")} and ${plural(edges.id.length, "fact")}. Arrow keys move, plus and minus zoom, 0 shows everything, Enter chooses what is in the middle. The same entities are in the list after it.`,
    onPick: (at) => { select(at); },
  });
  scene.said = (at) => edges.relations[edges.relation[at]].slice(0, 40);
  window.unabridgedScene = scene; // for those who measure
  const columns = {
    x: Float32Array.from(nodes.x, (x) => x / 1e4), y: Float32Array.from(nodes.y, (y) => y / 1e4),
    size: Float32Array.from(nodes.degree, (degree) => Math.min(11, 2.6 + 0.95 * Math.sqrt(degree)) * (nodes.id.length > 1500 ? 0.75 : nodes.id.length < 60 ? 1.3 : 1)),
    tone: nodes.type, label: nodes.name, source: edges.source, target: edges.target,
  };

  function filter() {
    const on = types.map((one) => one.on);
    const joined = new Uint8Array(nodes.id.length);
    let held = 0;
    for (let at = 0; at < edges.id.length; at += 1) {
      const end = edges.invalid_at[at];
      const state = moment === null ? (end !== null && end <= now ? 2 : 1) : (start[at] <= moment && (end === null || end > moment) ? 1 : 0);
      scene.lines[at] = state;
      if (state && on[nodes.type[edges.source[at]]] && on[nodes.type[edges.target[at]]]) { joined[edges.source[at]] = joined[edges.target[at]] = 1; held += 1; }
    }
    let seen = 0;
    for (let at = 0; at < nodes.id.length; at += 1) seen += scene.visible[at] = on[nodes.type[at]] && (moment === null || joined[at]) ? 1 : 0;
    scene.draw();
    const left = near ? 0 : data.total.nodes - data.shown.nodes;
    fill(count, `${plural(seen, "entity", "entities")} and ${plural(held, "fact")}`, moment === null ? "" : ` on ${date(moment)}`, near && `, within two steps of ${near}`,
      left > 0 ? `. The ${number(data.shown.nodes)} entities with most facts are drawn; ${number(left)} more are not.` : "",
      !near && data.shown.edges < data.total.edges && left <= 0 ? ` ${number(data.total.edges - data.shown.edges)} facts are not drawn.` : "");
  }

  async function select(at) {
    if (at === null || at === undefined) { fill(about, h("p", { class: "small muted" }, "Choose an entity to see what is known of it.")); return; }
    announce(`${nodes.name[at]}, ${nodes.types[nodes.type[at]]}, ${plural(nodes.degree[at], "fact")}`);
    const list = h("div", { class: "about-facts", tabindex: "0", role: "region", "aria-label": `Facts about ${nodes.name[at]}` });
    fill(about, h("div", { class: "line spread" }, h("h2", { dir: "auto", class: "breaks" }, nodes.name[at]), iconButton("Choose nothing", "close", () => scene.pick(null))),
      h("p", { class: "line small" }, h("i", { class: "swatch", style: { "--tone": tone(nodes.type[at]) } }), nodes.types[nodes.type[at]], h("span", { class: "muted" }, plural(nodes.degree[at], "fact"))),
      h("div", { class: "line" }, h("a", { class: "button little", href: link("entity", nodes.id[at]) }, "Timeline and sources"),
        query.get("around") === nodes.id[at] ? null : button("Only what is near", () => go("graph", [], { around: nodes.id[at] }), { kind: "little" })), list);
    await shown(list, memory.get("edges", { entity: nodes.id[at], include_history: true, limit: 50 }), (page) => h("ul", { class: "rows facts" },
      page.items.map((fact) => h("li", {}, factLine(fact)))), { still: () => scene.picked === at });
  }

  // -- the panel --------------------------------------------------------------------------------------------

  const names = unique("names");
  const places = new Map();
  nodes.name.forEach((name, at) => { const key = name.toLowerCase(); if (!places.has(key) || nodes.degree[at] > nodes.degree[places.get(key)]) places.set(key, at); });
  const suggestions = h("datalist", { id: names });
  const suggest = debounced((text) => fill(suggestions, [...scene.order].filter((at) => nodes.name[at].toLowerCase().includes(text)).slice(0, 12).map((at) => h("option", { value: nodes.name[at] }))), 80);
  const find = h("input", { type: "search", list: names, placeholder: "Name of an entity", onInput: () => { suggest(find.value.toLowerCase()); jump(); }, onKeydown: (event) => event.key === "Enter" && jump(true) });
  const jump = (loosely = false) => {
    const text = find.value.trim().toLowerCase();
    const at = places.get(text) ?? (loosely && text ? scene.order.find((one) => nodes.name[one].toLowerCase().includes(text)) : undefined);
    if (at !== undefined) scene.pick(at, { go: true });
    else if (loosely && text) announce("No entity that is drawn has this name.");
  };

  const legend = h("fieldset", { class: "field legend" }, h("legend", {}, "Types"), types.map((one) => {
    const box = h("input", { type: "checkbox", checked: true, onChange: () => { one.on = box.checked; filter(); } });
    return h("label", { class: "check small" }, box, h("i", { class: "swatch", style: { "--tone": tone(one.at) } }), h("span", { class: "one-line", dir: "auto", title: one.name }, one.name), h("span", { class: "muted num" }, number(one.count)));
  }));

  // Where not everything is drawn, the server can be asked for some types alone.
  const alone = !near && (data.total.nodes > data.shown.nodes || query.has("type"))
    ? h("div", { class: "line" }, button("Draw only these", () => go("graph", [], { type: types.filter((one) => one.on).map((one) => one.name) }), { kind: "little" }),
      query.has("type") ? h("a", { class: "button little", href: link("graph") }, "All types") : null) : null;

  const shownAt = h("output", { class: "small num" }, "all times");
  const slide = h("input", { type: "range", min: 0, max: 1000, value: 1000, "aria-label": "Moment", "aria-valuetext": "all times" });
  const at = (place) => first + (last - first) * place / 1000;
  const to = (place) => {
    moment = place === null ? null : at(place);
    slide.value = place ?? 1000;
    shownAt.textContent = moment === null ? "all times" : date(moment);
    slide.setAttribute("aria-valuetext", shownAt.textContent);
    filter();
  };
  slide.addEventListener("input", () => { stop(); to(Number(slide.value)); });
  let playing = 0;
  const stop = () => { cancelAnimationFrame(playing); playing = 0; fill(play, icon("play"), "Play"); };
  const play = button("Play", () => {
    if (playing) { stop(); return; }
    const from = Number(slide.value) >= 1000 ? 0 : Number(slide.value);
    const begun = performance.now();
    fill(play, icon("pause"), "Pause");
    const step = (time) => {
      const place = from + (time - begun) / PLAYED * 1000;
      if (place >= 1000) { to(1000); stop(); return; }
      to(calm() ? Math.floor(place / 50) * 50 : place);
      playing = requestAnimationFrame(step);
    };
    playing = requestAnimationFrame(step);
  }, { kind: "little", sign: "play" });
  const times = h("div", { class: "stack tight" }, h("div", { class: "line spread" }, h("span", { class: "label" }, "What held on"), shownAt), slide,
    h("div", { class: "line" }, play, button("All times", () => { stop(); to(null); }, { kind: "little" })));

  const list = h("details", { class: "small" }, h("summary", {}, `The ${number(Math.min(LISTED, nodes.id.length))} with most facts, as a list`));
  list.addEventListener("toggle", () => {
    if (list.open && list.children.length === 1) list.append(h("ol", { class: "rows" }, scene.order.slice(0, LISTED).map((index) => h("li", {},
      h("button", { type: "button", class: "row-link named", onClick: () => scene.pick(index, { go: true }) }, h("span", { dir: "auto" }, nodes.name[index]), h("span", { class: "muted num" }, number(nodes.degree[index])))))));
  });

  fill(side, h("div", { class: "panel padded" }, about), h("div", { class: "panel padded stack" }, field("Find", find), suggestions, times, legend, alone, list),
    query.get("around") ? h("div", {}, h("a", { class: "button little", href: link("graph") }, "Show the whole graph")) : null);
  const tools = h("div", { class: "tools", role: "group", "aria-label": "Zoom" }, iconButton("Zoom in", "plus", () => scene.zoom(1.4)), iconButton("Zoom out", "minus", () => scene.zoom(1 / 1.4)), iconButton("Show everything", "fit", () => scene.fit()));
  scene.element.append(tools);
  const begin = () => { filter(); select(null); const around = query.get("around"); const here = around ? nodes.id.indexOf(around) : -1; if (here >= 0) scene.pick(here); };
  return { element: scene.element, scene, columns, begin, close: () => { stop(); scene.close(); } };
}
