// Vectors: how many there should be and are, what the tables hold, and all of them as a cloud.

import { memory } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { bytes, number, percent, plural } from "../format.js";
import { bar, chip, empty, figures, iconButton, select, shown, table, tone } from "../parts.js";
import { cloudOf, go } from "../route.js";
import { Scene } from "../scene.js";

const NAMED = 60; // vectors up to which each has its name beside it
const WHAT = [["artifacts:", "All texts"], ["artifacts:document", "Documents"], ["artifacts:chunk", "Chunks"], ["artifacts:summary", "Summaries"], ["entities:", "Entities"], ["edges:", "Facts"]];

export default async function vectors(root, { heading, query, still }) {
  const [name, role] = (query.get("of") ?? "artifacts:").split(":");
  const method = query.get("method") ?? "pca";
  const stage = h("div", { class: "stage panel" });
  const side = h("aside", { class: "stack tight", "aria-label": "Cloud" });
  const counts = h("div", { class: "stack" });
  fill(root, h("div", { class: "head" }, heading), h("div", { class: "graph-layout" }, stage, side), h("div", { class: "gap" }), counts);
  shown(counts, memory.get("stats"), statistics, { still, what: "Counting …" });
  const controls = h("div", { class: "panel padded stack tight" },
    h("label", { class: "field" }, h("span", {}, "Show"), select(WHAT, `${name}:${role ?? ""}`, (value) => go("vectors", [], { of: value, method }))),
    h("label", { class: "field" }, h("span", {}, "Flattened by"), select([["pca", "Principal axes"], ["random", "Two random directions"]], method, (value) => go("vectors", [], { of: `${name}:${role ?? ""}`, method: value }))));
  fill(side, controls);
  let scene = null;
  await shown(stage, memory.get(...cloudOf(query)), (data) => {
    if (!data.id.length) return empty("No vectors", "Without an embedder texts are stored and nothing is embedded; vectors can be filled in later.");
    scene = cloud(data, name, side);
    return scene.element;
  }, { what: "Flattening …", still });
  if (scene) scene.ready();
  return () => scene?.close();
}

function cloud(data, name, side) {
  const tip = h("div", { class: "tip", hidden: true });
  const groups = data.groups.map((group, at) => ({ group, at, count: data.group.filter((one) => one === at).length, on: true }));
  const open = (at) => at !== null && at !== undefined && (name === "edges" ? announce(data.label[at]) : go(name === "entities" ? "entity" : "artifacts", [data.id[at]]));
  const scene = new Scene({
    label: `Cloud of ${plural(data.id.length, "vector")}. Arrow keys move, plus and minus zoom, 0 shows everything, Enter opens what is in the middle.`,
    onPick: open, onHover: (at) => { tip.hidden = at === null; tip.textContent = at === null ? "" : data.label[at]; },
  });
  scene.element.append(tip, h("div", { class: "tools", role: "group", "aria-label": "Zoom" }, iconButton("Zoom in", "plus", () => scene.zoom(1.4)), iconButton("Zoom out", "minus", () => scene.zoom(1 / 1.4)), iconButton("Show everything", "fit", () => scene.fit())));
  scene.ready = () => {
    scene.show({
      x: Float32Array.from(data.x, (x) => x / 1e4), y: Float32Array.from(data.y, (y) => -y / 1e4), label: data.label, tone: data.group,
      size: new Float32Array(data.id.length).fill(data.id.length > 1500 ? 3 : data.id.length > NAMED ? 4.5 : 6.5),
    });
    scene.order = [...data.id.keys()];
    scene.named = data.id.length <= NAMED;
  };
  const filter = () => { data.group.forEach((group, at) => { scene.visible[at] = groups[group].on ? 1 : 0; }); scene.draw(); };
  side.append(h("div", { class: "panel padded stack tight" },
    h("p", { class: "small" }, data.id.length < data.total ? `${number(data.id.length)} of ${number(data.total)} vectors, evenly chosen` : plural(data.total, "vector"), `, ${number(data.width)} numbers each.`),
    h("p", { class: "small muted" }, `The picture keeps ${percent(data.share)} of what tells them apart. Near here is a hint, not a proof.`),
    h("fieldset", { class: "field legend" }, h("legend", {}, "Kinds"), groups.map((one) => {
      const box = h("input", { type: "checkbox", checked: true, onChange: () => { one.on = box.checked; filter(); } });
      return h("label", { class: "check small" }, box, h("i", { class: "swatch", style: { "--tone": tone(one.at) } }), h("span", { class: "one-line", dir: "auto", title: one.group }, one.group), h("span", { class: "muted num" }, number(one.count)));
    }))));
  return scene;
}

function statistics(found) {
  const logical = Object.entries(found.vectors).map(([name, one]) => ({ name: name.replace("_", " "), ...one }));
  const tables = Object.entries(found.tables).map(([name, one]) => ({ name, ...one })).filter((one) => one.rows);
  return [
    h("section", { class: "panel", "aria-label": "Vector indexes" }, h("header", {}, h("h2", {}, "Vectors expected and present"),
      found.width ? chip(`width ${found.width}, ${found.vector_type}`) : chip("no embedder yet")),
    table("Vectors expected and present", [
      { name: "Index", value: (one) => one.name }, { name: "Expected", num: true, value: (one) => number(one.expected) }, { name: "Present", num: true, value: (one) => number(one.present) },
      { name: "Share", quiet: true, value: (one) => (one.expected ? bar(one.present / one.expected, `${number(one.present)} of ${number(one.expected)}`, one.present < one.expected ? "var(--warn)" : "var(--good)") : "") },
      { name: "State", quiet: true, value: (one) => (one.present < one.expected ? chip(`${number(one.expected - one.present)} missing`, "warn") : one.expected ? chip("complete", "good") : "") }], logical)),
    h("section", { class: "panel", "aria-label": "What is stored" }, h("header", {}, h("h2", {}, "What is stored"), chip(bytes(found.bytes)), chip(`commit ${number(found.seq)}`)),
      h("div", { class: "padded-in" }, figures([["documents", number(found.artifacts.documents)], ["chunks", number(found.artifacts.chunks)], ["summaries", number(found.artifacts.summaries)], ["files", number(found.files)], ["snapshots", number(found.snapshots.length)]])),
      table("Tables", [
        { name: "Table", value: (one) => one.name }, { name: "Rows", num: true, value: (one) => number(one.rows) }, { name: "Not indexed", num: true, value: (one) => number(one.unindexed) },
        { name: "Deleted, not yet cleaned", num: true, value: (one) => number(one.stale) }, { name: "Fragments", num: true, value: (one) => number(one.fragments) },
        { name: "Size", num: true, value: (one) => bytes(one.bytes) }, { name: "Indexes", value: (one) => h("span", { class: "line" }, one.indexes.map((each) => chip(each.replace(/_idx$/, "")))) }], tables))];
}
