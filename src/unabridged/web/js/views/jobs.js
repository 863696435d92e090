// Jobs: what embeds a collection, how far it has come, live; and what ended how.

import { get } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { money, moment, number, percent, plural, seconds } from "../format.js";
import { bar, chip, empty, figures, note, shown } from "../parts.js";

const EVERY = 1000; // milliseconds between two looks while something runs
const RARELY = 5000; // and while nothing does

const TONES = { done: "good", running: "", failed: "bad", stopped: "warn", interrupted: "warn" };

export default async function jobs(root, { heading, still }) {
  const body = h("div", { class: "stack" });
  const live = h("p", { class: "small muted" });
  fill(root, h("div", { class: "head" }, heading, live), body);
  const open = new Set();
  let timer = 0;
  let before = null;
  let running = new Map();
  const look = async () => (await get("v1/gb/jobs", { limit: 100 })).items ?? [];
  const draw = (found) => {
    for (const one of found) if (running.get(one.id) && !one.running) announce(`Job ${one.id} is ${one.status}`);
    running = new Map(found.map((one) => [one.id, one.running]));
    const text = JSON.stringify(found);
    if (text === before) return;
    before = text;
    if (!found.length) { fill(body, empty("No jobs", "A job embeds a whole collection: files, tables, folders. Start one with the command line:", h("code", {}, "unabridged job run notes.jsonl -o vectors.parquet"))); return; }
    fill(body, found.map((one) => card(one, open)));
  };
  const again = async () => {
    if (!still()) return;
    if (!document.hidden) {
      try { draw(await look()); fill(live, "Live."); } catch (error) { fill(live, `Not up to date: ${error.message}`); }
    }
    timer = setTimeout(again, [...running.values()].some(Boolean) ? EVERY : RARELY);
  };
  await shown(body, look(), (found) => { before = null; draw(found); return [...body.childNodes]; }, { still });
  timer = setTimeout(again, EVERY);
  return () => clearTimeout(timer);
}

function card(one, open) {
  const counts = one.counts ?? {};
  const done = (counts.done ?? 0) + (counts.skipped ?? 0) + (counts.failed ?? 0);
  const total = one.total ?? null;
  const took = one.began ? ((one.ended ?? Date.now() / 1000) - one.began) : null;
  const rate = took > 0 ? done / took : 0;
  const left = one.running && total !== null && rate > 0 ? (total - done) / rate : null;
  const more = h("details", { open: open.has(one.id) }, h("summary", { class: "small" }, "Settings and failures"),
    Object.keys(one.causes ?? {}).length ? h("ul", { class: "small" }, Object.entries(one.causes).map(([cause, count]) => h("li", {}, `${number(count)} × ${cause}`))) : null,
    h("pre", { class: "code", tabindex: "0" }, JSON.stringify(one.configuration ?? {}, null, 2)));
  more.addEventListener("toggle", () => { if (more.open) open.add(one.id); else open.delete(one.id); });
  const status = one.running ? "running" : one.status;
  return h("article", { class: "panel padded stack tight", "aria-label": `Job ${one.id}` },
    h("div", { class: "line spread" }, h("h2", { class: "breaks" }, one.id), chip(status, TONES[status] ?? "")),
    total ? h("div", { class: "line" }, h("span", { class: "grow-bar" }, bar(done / total, `${number(done)} of ${plural(total, "row")}`)), h("span", { class: "small num" }, percent(done / total))) : null,
    figures([[total ? `of ${number(total)} rows` : "rows", number(done)], ["failed", number(counts.failed ?? 0)], ["tokens", number(one.spent?.tokens ?? 0)], ["requests", number(one.spent?.requests ?? 0)],
      ["spent", money(one.cost)], [left !== null ? "left" : "took", seconds(left ?? took)]]),
    h("p", { class: "small muted breaks" }, [one.model, one.target && `to ${one.target}`, one.began && `began ${moment(one.began * 1000)}`].filter(Boolean).join(" · ")),
    one.reason ? note(one.reason, "warn") : null, more);
}
