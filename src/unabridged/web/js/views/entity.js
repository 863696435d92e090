// One entity: what it is, its facts over time, and where each of them is said.

import { memory, part } from "../api.js";
import { fill, fitted, h, measured, s } from "../dom.js";
import { date, moment, number, plural, ticksOf } from "../format.js";
import { chip, empty, shown, tone } from "../parts.js";
import { strip } from "../pictures.js";
import { link } from "../route.js";
import { ended, evidenceList, factLine, span } from "./facts.js";

const AXIS = 24; // pixels for the years, over and under the bars
const ROOM = 560; // pixels from which names stand beside the bars
const MOST = 400; // facts on the picture; all of them are in the list

export default async function entity(root, { heading, rest, still }) {
  const id = rest[0] ?? "";
  const body = h("div", { class: "stack" });
  fill(root, h("div", { class: "head" }, heading), body);
  const asked = Promise.all([memory.get(`entities/${part(id)}`), facts(id)]);
  await shown(body, asked, ([one, found]) => {
    fill(heading, h("span", { dir: "auto", class: "breaks" }, one.name));
    document.title = `${one.name} · unabridged`;
    const mentions = h("details", { class: "panel padded" }, h("summary", {}, "Where it is mentioned"));
    const place = h("div", {});
    mentions.append(place);
    mentions.addEventListener("toggle", () => mentions.open && !place.childNodes.length && shown(place, memory.get(`entities/${part(id)}/evidence`), evidenceList));
    return [
      h("div", { class: "line" }, chip(one.type), one.aliases.map((alias) => chip(`also ${alias}`)), h("span", { class: "small muted" }, `known since ${moment(one.created_at)}`),
        h("a", { class: "button little", href: link("graph", [], { around: one.id }) }, "In the graph")),
      one.description ? h("p", { dir: "auto", class: "serif-text breaks" }, one.description) : null,
      found.length ? [h("section", { class: "panel padded stack tight", "aria-label": "Timeline" }, h("h2", {}, "Timeline"), timeline(found)),
        h("section", { class: "panel", "aria-label": "Facts" }, h("header", {}, h("h2", {}, plural(found.length, "fact")), h("span", { class: "small muted" }, "Open one to see its sources")),
          h("ul", { class: "rows facts" }, found.map((fact) => h("li", { id: `fact-${fact.id}` }, factLine(fact)))))]
        : empty("No facts", "Nothing but mentions is known of it."),
      strip(pictures(id), "On these images", "panel padded"), mentions];
  }, { still });
}

async function pictures(id) {
  const { items } = await memory.get("links", { type: "entity_image", from_id: id, limit: 24 });
  return Promise.all(items.map((each) => memory.get(`images/${part(each.to_id)}`)));
}

async function facts(id) {
  const found = [];
  let cursor = null;
  do {
    const page = await memory.get("edges", { entity: id, include_history: true, limit: 500, cursor });
    found.push(...page.items);
    cursor = page.cursor;
  } while (cursor && found.length < 5000);
  const from = (fact) => new Date(fact.valid_at ?? fact.created_at).getTime();
  return found.sort((a, b) => from(a) - from(b));
}

/** Facts as bars over time; what has no end reaches to the right edge. Each relation has its colour. */
function timeline(found) {
  const rows = found.slice(0, MOST).map((fact) => ({ fact, from: new Date(fact.valid_at ?? fact.created_at).getTime(), to: fact.invalid_at ? new Date(fact.invalid_at).getTime() : Date.now() }));
  const relations = [...new Set(rows.map(({ fact }) => fact.relation))];
  return [
    h("ul", { class: "line small", "aria-label": "Relations" }, relations.slice(0, 20).map((relation, at) => h("li", { class: "line" }, h("i", { class: "swatch", style: { "--tone": tone(at) } }), h("span", { class: "breaks", dir: "auto" }, relation)))),
    measured((wide) => bars(rows, relations, wide)),
    found.length > rows.length ? h("p", { class: "small muted" }, `The first ${number(MOST)} of ${plural(found.length, "fact")}; the list has them all.`) : null];
}

function bars(rows, relations, wide) {
  const above = wide < ROOM; // no room beside the bars: their names stand over them
  const line = above ? 38 : 26;
  const left = above ? 2 : Math.round(Math.min(320, wide * 0.34));
  const last = Math.max(Date.now(), ...rows.map(({ to }) => to));
  const first = Math.min(last - 86_400_000, ...rows.map(({ from }) => from));
  const x = (at) => left + (wide - left - 8) * (at - first) / (last - first);
  const height = rows.length * line + 2 * AXIS;
  const marks = ticksOf(first, last, Math.max(3, Math.floor((wide - left) / 80)));
  return s("svg", { class: "plot timeline", width: wide, height, viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": `${plural(rows.length, "fact")} from ${date(first)} to ${date(last)}; the list below has them all` },
    marks.map(({ at, text }) => [s("line", { class: "tick", x1: x(at), x2: x(at), y1: AXIS - 4, y2: height - AXIS }),
      [AXIS - 8, height - 5].map((y) => s("text", { x: x(at), y, "text-anchor": x(at) < left + 24 ? "start" : x(at) > wide - 24 ? "end" : "middle" }, text))]),
    rows.map(({ fact, from, to }, at) => s("g", { class: ended(fact) ? "ended" : null },
      s("title", {}, `${fact.fact} ${span(fact)}`),
      s("text", { class: "name", x: above ? left : left - 10, y: AXIS + at * line + (above ? 13 : 17), "text-anchor": above ? "start" : "end" }, fitted(fact.fact || fact.relation, above ? wide - 8 : left - 14, 13)),
      s("rect", { x: x(from), y: AXIS + at * line + (above ? 18 : 6), width: Math.max(4, x(to) - x(from)), height: 14, rx: 7, fill: tone(relations.indexOf(fact.relation)) }))));
}
