// The configuration in force: what is set, masked; the model's figures, and where each comes from.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { figure, number } from "../format.js";
import { chip, note, shown, table } from "../parts.js";

export default async function settings(root, { heading, still }) {
  const body = h("div", { class: "stack" });
  fill(root, h("div", { class: "head" }, heading, h("p", {}, "Secrets are never sent to this page.")), body);
  await shown(body, get("v1/gb/configuration"), (found) => [
    h("section", { class: "panel", "aria-label": "In force" }, h("header", {}, h("h2", {}, "In force"), chip(`version ${found.version}`)),
      table("Figures in force", [
        { name: "What", value: (one) => one.name },
        { name: "Value", value: (one) => h("span", { class: "value-cell num" }, typeof one.value === "number" ? valueOf(one.value) : one.value === null ? "–" : String(one.value), one.unit ? ` ${one.unit}` : "") },
        { name: "Where it comes from", value: (one) => h("span", { class: "muted" }, one.origin) }], found.figures)),
    found.notes.map((line) => note(line, "warn")),
    h("section", { class: "panel", "aria-label": "Settings" }, h("header", {}, h("h2", {}, "Settings, as a file would write them")), h("div", { class: "padded-in" }, tree(found.settings)))], { still });
}

const valueOf = (value) => (Number.isInteger(value) ? number(value) : figure(value));

function tree(value, level = 0) {
  if (value === null || typeof value !== "object") return h("span", { class: ["value", String(value) === "********" && "masked"] }, value === null ? "null" : typeof value === "string" ? value : JSON.stringify(value));
  const entries = Object.entries(value);
  if (!entries.length) return h("span", { class: "muted" }, Array.isArray(value) ? "empty list" : "empty");
  return h("dl", { class: "set-tree" }, entries.map(([key, each]) => {
    const nested = each !== null && typeof each === "object" && Object.keys(each).length;
    return h("div", { class: nested ? "nested" : null }, h("dt", {}, key), h("dd", {}, tree(each, level + 1)));
  }));
}
