// A fact, where it holds, and what it rests on.

import { memory, part } from "../api.js";
import { h } from "../dom.js";
import { date, opening } from "../format.js";
import { chip, shown } from "../parts.js";
import { link } from "../route.js";

/** From when to when a fact holds, in words. */
export function span(fact) {
  const from = fact.valid_at;
  const to = fact.invalid_at;
  if (!from && !to) return "";
  if (!to) return `since ${date(from)}`;
  return from ? `${date(from)} – ${date(to)}` : `until ${date(to)}`;
}

export const ended = (fact) => fact.invalid_at !== null && new Date(fact.invalid_at) <= new Date();

/** A fact on a line, and its sources when they are asked for. */
export function factLine(fact) {
  const sources = h("div", { class: "sources" });
  const about = h("details", { class: ["fact", ended(fact) && "ended"] },
    h("summary", {}, h("span", { dir: "auto", class: "breaks" }, fact.fact || fact.relation), h("span", { class: "small muted" }, span(fact), ended(fact) ? chip("ended") : null)), sources);
  about.addEventListener("toggle", () => {
    if (!about.open || sources.childNodes.length) return;
    shown(sources, Promise.all([memory.get(`edges/${part(fact.id)}/evidence`), ended(fact) ? memory.get(`edges/${part(fact.id)}/contradictions`) : []]),
      ([found, closed]) => [evidenceList(found), closed.length ? h("p", { class: "small" }, "Ended by ", closed.map((one) => h("a", { href: link("artifacts", one.to_id) }, "another source"))) : null]);
  });
  return about;
}

/** Sources, each a link to the passage in its document. */
export const evidenceList = (found) => h("ul", { class: "stack tight" }, found.map((one) => h("li", { class: "evidence" },
  h("a", { href: passage(one) }, "“", h("q", { dir: "auto" }, opening(one.quote ?? one.artifact.text, 220)), "”"),
  h("div", { class: "small muted breaks" }, [one.document.source, one.artifact.page && `page ${one.artifact.page}`, one.artifact.section, date(one.artifact.created_at)].filter(Boolean).join(" · ")))));

/** Where in a document the passage of some evidence stands. */
export function passage(one) {
  const base = one.artifact.start_offset ?? 0;
  const known = one.link.start !== null && one.link.start !== undefined;
  const start = known ? base + one.link.start : one.artifact.start_offset;
  const end = known ? base + one.link.end : one.artifact.end_offset;
  const derived = one.artifact.role !== "chunk" && one.artifact.role !== "document";
  return derived ? link("artifacts", one.artifact.id) : link("artifacts", one.document.id, { start, end });
}
