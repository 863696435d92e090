// Jobs: what embeds a collection, how far it has come, live; and what ended how.

import { get } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { decimal, money, moment, number, percent, plural, seconds } from "../format.js";
import { bar, chip, empty, figures, note, shown } from "../parts.js";

const EVERY = 1000; // milliseconds between two looks while something runs
const RARELY = 5000; // and while nothing does

const TONES = { done: "good", running: "", failed: "bad", stopped: "warn", interrupted: "warn" };

export default async function jobs(root, { heading, still }) {
  const body = h("div", { class: "stack" });
  const live = h("p", { class: "small muted" });
  fill(root, h("div", { class: "head" }, heading, live), body);
  let timer = 0;
  let cards = new Map(); // by id: a card stays while its figures change, so that focus and what is open stay too
  const look = async () => (await get("v1/gb/jobs", { limit: 100 })).items ?? [];
  const draw = (found) => {
    if (!found.length) { cards = new Map(); fill(body, none()); return; }
    const kept = new Map(found.map((one) => [one.id, cards.get(one.id) ?? card(one.id)]));
    for (const one of found) {
      const ended = kept.get(one.id).show(one);
      if (ended) announce(`Job ${one.id} is ${one.status}`);
    }
    cards = kept;
    const wanted = [...cards.values()].map((one) => one.element);
    if (wanted.some((element, at) => body.childNodes[at] !== element) || body.childNodes.length !== wanted.length) fill(body, wanted);
  };
  const again = async () => {
    if (!still()) return;
    if (!document.hidden) {
      try { draw(await look()); fill(live, "Live."); } catch (error) { fill(live, `Not up to date: ${error.message}`); }
    }
    timer = setTimeout(again, [...cards.values()].some((one) => one.running) ? EVERY : RARELY);
  };
  await shown(body, look(), (found) => { draw(found); return [...body.childNodes]; }, { still });
  timer = setTimeout(again, EVERY);
  return () => clearTimeout(timer);
}

const none = () => empty("No jobs", "A job embeds a whole collection: files, tables, folders. Start one with the command line:", h("code", { class: "breaks" }, "unabridged job run notes.jsonl -o vectors.parquet"));

/** A job as a card: `show(one)` draws what changed, and says whether it has just ended. */
function card(id) {
  const status = h("span", {});
  const figuresNow = h("div", { class: "stack tight" });
  const inside = h("div", { class: "stack tight" });
  const made = {
    element: h("article", { class: "panel padded stack tight", "aria-label": `Job ${id}` }, h("div", { class: "line spread nowrap" }, h("h2", { class: "breaks" }, id), status), figuresNow,
      h("details", {}, h("summary", { class: "small" }, "Settings and failures"), inside)),
    running: false,
    show(one) {
      const was = made.running;
      made.running = one.running;
      changed(status, one.running ? "running" : one.status, (word) => chip(word, TONES[word] ?? ""));
      changed(figuresNow, { ...one, configuration: null, now: one.running && Math.round(Date.now() / 1000) }, () => progress(one));
      changed(inside, [one.causes, one.configuration], () => settings(one));
      return was && !one.running;
    },
  };
  return made;
}

function changed(place, data, draw) {
  const key = JSON.stringify(data);
  if (place.key === key) return;
  place.key = key;
  fill(place, draw(data));
}

function progress(one) {
  const counts = one.counts ?? {};
  const done = (counts.done ?? 0) + (counts.skipped ?? 0) + (counts.failed ?? 0);
  const total = one.total ?? null;
  const took = one.began ? ((one.ended ?? Date.now() / 1000) - one.began) : null;
  const rate = took > 0 ? done / took : 0;
  const left = one.running && total !== null && rate > 0 ? (total - done) / rate : null;
  return [
    total ? h("div", { class: "line" }, h("span", { class: "grow-bar" }, bar(done / total, `${number(done)} of ${plural(total, "row")}`)), h("span", { class: "small num" }, percent(done / total))) : null,
    figures([[total ? `of ${number(total)} rows` : "rows", number(done)], ["failed", number(counts.failed ?? 0)], ["skipped", number(counts.skipped ?? 0)], ["tokens", number(one.spent?.tokens ?? 0)], ["requests", number(one.spent?.requests ?? 0)],
      one.cost === null ? null : ["spent", money(one.cost)], [left !== null ? "left" : "took", seconds(left ?? took)], ["rows a second", rate ? decimal(rate) : "–"]].filter(Boolean)),
    h("p", { class: "small muted breaks" }, [one.model, one.cost === null && (one.configuration?.host === "process" ? "no price: runs here" : "no price was given"), one.target && `to ${one.target}`, one.began && `began ${moment(one.began * 1000)}`].filter(Boolean).join(" · ")),
    one.reason ? note(one.reason, "warn") : null];
}

const settings = (one) => [
  Object.keys(one.causes ?? {}).length ? h("ul", { class: "small" }, Object.entries(one.causes).map(([cause, count]) => h("li", {}, `${number(count)} × ${cause}`))) : null,
  h("pre", { class: "code", tabindex: "0", "aria-label": "Settings" }, JSON.stringify(one.configuration ?? {}, null, 2))];
