// Model calls: what each was for, what it read and wrote, and what it cost.

import { memory } from "../api.js";
import { chart } from "../chart.js";
import { fill, h } from "../dom.js";
import { money, moment, number, plural, seconds } from "../format.js";
import { bar, button, chip, empty, field, figures, select, shown, table } from "../parts.js";
import { go, link } from "../route.js";

const MOST = 1000;
const LISTED = 100; // rows before somebody asks for more
const HOUR = 3_600_000;
const FILTERS = ["stage", "status", "model_id", "session_id"];

export default async function inferences(root, { heading, query, still }) {
  const asked = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]));
  const body = h("div", { class: "stack" });
  fill(root, h("div", { class: "head" }, heading, h("p", {}, "Every call of a model is kept, also of requests that failed.")), body);
  const work = Promise.all([memory.get("inferences/cost", { session_id: asked.session_id }), memory.get("inferences", { limit: MOST, newest_first: true, ...asked }), memory.get("models")]);
  await shown(body, work, ([all, page, models]) => {
    const calls = page.items;
    if (!calls.length && FILTERS.every((name) => !asked[name])) return empty("No model was called yet", "Extraction, summaries and answers are listed here with their cost.");
    const names = new Map(models.items.map((one) => [one.id, one.provider ? `${one.provider}/${one.name}` : one.name]));
    const model = (call) => names.get(call.model_id) ?? "unknown model";
    const of = page.cursor ? chip(`of the newest ${number(MOST)} calls`) : null;
    return [
      h("div", { class: "panel padded stack" }, figures([["tokens read", number(all.tokens_in)], ["tokens written", number(all.tokens_out)], [asked.session_id ? "spent in this session" : "spent", money(all.cost)]]),
        filters(calls, asked, names)),
      overTime(calls, of),
      calls.length ? [byStage(calls, model, of), list(calls, page.cursor, model)] : empty("No such calls", "None fits all of what was chosen.")];
  }, { still });
}

function filters(calls, asked, names) {
  const change = (name) => (value) => go("inferences", [], { ...asked, [name]: value });
  const choice = (label, name, any, found) => field(label, select([["", any], ...[...new Map([...found, ...(asked[name] ? [[asked[name], names.get(asked[name]) ?? asked[name]]] : [])])].sort((a, b) => String(a[1]).localeCompare(b[1]))], asked[name] ?? "", change(name)));
  return h("div", { class: "bar-row" }, choice("Stage", "stage", "Every stage", calls.map((one) => [one.stage, one.stage])), choice("Model", "model_id", "Every model", names),
    choice("Status", "status", "Any status", calls.map((one) => [one.status, one.status])),
    asked.session_id ? h("span", { class: "line" }, chip(`session ${asked.session_id}`), h("a", { class: "button little", href: link("inferences", [], { ...asked, session_id: null }) }, "All sessions")) : null);
}

/** What was spent in each hour, or each day where calls reach over more of them. */
function overTime(calls, of) {
  const times = calls.map((call) => Date.parse(call.created_at));
  const step = times.length && Math.max(...times) - Math.min(...times) > 72 * HOUR ? 24 * HOUR : HOUR;
  const found = new Map();
  calls.forEach((call, index) => {
    const at = Math.floor(times[index] / step) * step;
    const one = found.get(at) ?? { at, value: 0, count: 0 };
    one.value += call.cost ?? 0;
    one.count += 1;
    found.set(at, one);
  });
  const rows = [...found.values()].sort((a, b) => a.at - b.at).map((one) => ({ ...one, said: `${moment(one.at)}: ${money(one.value)}, ${plural(one.count, "call")}` }));
  if (rows.length < 3) return null;
  const each = step === HOUR ? "hour" : "day";
  return h("section", { class: "panel padded stack tight", "aria-label": "Cost over time" }, h("div", { class: "line" }, h("h2", {}, `Spent each ${each}`), of),
    chart(rows, { label: `Dollars spent each ${each}, ${plural(rows.length, each)} with calls.`, caption: `Dollars. Point at a ${each}, or use the arrow keys, to read it.` }));
}

function byStage(calls, model, of) {
  const groups = grouped(calls, (call) => `${call.stage}\u0000${model(call)}`);
  const most = Math.max(1e-12, ...groups.map((one) => one.cost));
  return h("div", { class: "panel" }, h("header", {}, h("h2", {}, "By stage and model"), of), table("Cost by stage and model", [
    { name: "Stage", value: (one) => one.key.split("\u0000")[0] }, { name: "Model", value: (one) => one.key.split("\u0000")[1] },
    { name: "Calls", num: true, value: (one) => number(one.count) }, { name: "Failed", num: true, value: (one) => number(one.failed) },
    { name: "Read", num: true, value: (one) => number(one.read) }, { name: "Written", num: true, value: (one) => number(one.written) },
    { name: "Cost", num: true, value: (one) => money(one.cost) }, { name: "Share of the cost", quiet: true, value: (one) => bar(one.cost / most, `${money(one.cost)}`) }], groups));
}

function list(calls, more, model) {
  const place = h("div", {});
  const draw = (count) => fill(place, table("Model calls", [
    { name: "When", kind: "when", value: (call) => moment(call.created_at) }, { name: "Stage", value: (call) => call.stage }, { name: "Model", value: model },
    { name: "Status", value: (call) => (call.status === "ok" ? chip("ok", "good") : chip(call.status, "bad")) }, { name: "Reasoning", value: (call) => call.reasoning },
    { name: "Read", num: true, value: (call) => number(call.tokens_in) }, { name: "Written", num: true, value: (call) => number(call.tokens_out) },
    { name: "Took", num: true, value: (call) => seconds(call.seconds) }, { name: "Cost", num: true, value: (call) => money(call.cost) },
    { name: "For", value: (call) => (call.artifact_id ? h("a", { href: link("artifacts", call.artifact_id) }, "text") : call.session_id ?? "") }], calls.slice(0, count)),
  calls.length > count ? h("div", { class: "padded-in" }, button(`${number(calls.length - count)} more`, () => draw(calls.length), { kind: "little" })) : null);
  draw(LISTED);
  return h("div", { class: "panel" }, h("header", {}, h("h2", {}, more ? `The newest ${number(calls.length)}` : plural(calls.length, "call"))), place);
}

function grouped(calls, by) {
  const found = new Map();
  for (const call of calls) {
    const key = by(call);
    const one = found.get(key) ?? { key, count: 0, failed: 0, read: 0, written: 0, cost: 0 };
    one.count += 1;
    one.failed += call.status === "ok" ? 0 : 1;
    one.read += call.tokens_in ?? 0;
    one.written += call.tokens_out ?? 0;
    one.cost += call.cost ?? 0;
    found.set(key, one);
  }
  return [...found.values()].sort((a, b) => b.cost - a.cost || b.count - a.count);
}
