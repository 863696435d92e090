// One entity: what it is, its facts over time, and where each of them is said.

import { memory, part } from "../api.js";
import { fill, h, s } from "../dom.js";
import { date, moment, plural } from "../format.js";
import { chip, empty, shown, tone } from "../parts.js";
import { link } from "../route.js";
import { ended, evidenceList, factLine, span } from "./facts.js";

const LINE = 26;
const LEFT = 230;
const WIDTH = 1000;
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
      mentions];
  }, { still });
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

/** Facts as bars over time; what has no end reaches to the right edge. */
function timeline(found) {
  const rows = found.slice(0, MOST);
  const now = Date.now();
  const from = rows.map((fact) => new Date(fact.valid_at ?? fact.created_at).getTime());
  const to = rows.map((fact) => (fact.invalid_at ? new Date(fact.invalid_at).getTime() : now));
  let first = Math.min(...from);
  const last = Math.max(now, ...to);
  if (last - first < 86_400_000) first = last - 86_400_000;
  const x = (at) => LEFT + (WIDTH - LEFT - 12) * (at - first) / (last - first);
  const relations = [...new Set(rows.map((fact) => fact.relation))];
  const height = rows.length * LINE + 28;
  return h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Timeline of facts" },
    s("svg", { class: "plot timeline", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${plural(rows.length, "fact")} from ${date(first)} to ${date(last)}; the list below has them all` },
      ticks(first, last).map((at) => [s("line", { class: "tick", x1: x(at), x2: x(at), y1: 0, y2: height - 20 }), s("text", { x: x(at), y: height - 5, "text-anchor": "middle" }, new Date(at).getUTCFullYear() + (last - first < 4 * 31_557_600_000 ? `-${String(new Date(at).getUTCMonth() + 1).padStart(2, "0")}` : ""))]),
      rows.map((fact, at) => s("g", { class: ended(fact) ? "ended" : null },
        s("title", {}, `${fact.fact} ${span(fact)}`),
        s("text", { class: "name", x: LEFT - 8, y: at * LINE + 17, "text-anchor": "end" }, short(fact.fact || fact.relation)),
        s("rect", { x: x(from[at]), y: at * LINE + 6, width: Math.max(4, x(to[at]) - x(from[at])), height: 14, rx: 7, fill: tone(relations.indexOf(fact.relation)) })))));
}

const short = (text) => (text.length > 36 ? `${text.slice(0, 35)}…` : text);

function ticks(first, last) {
  const years = (last - first) / 31_557_600_000;
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600].find((step) => years * 12 / step <= 9) ?? 1200;
  const start = new Date(first);
  const found = [];
  for (let at = Date.UTC(start.getUTCFullYear() - (months > 12 ? start.getUTCFullYear() % (months / 12) : 0), 0); at <= last && found.length < 40;) {
    if (at >= first) found.push(at);
    const next = new Date(at);
    at = Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + months);
  }
  return found;
}
