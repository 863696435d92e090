// Model calls: what each was for, what it read and wrote, and what it cost.

import { memory } from "../api.js";
import { fill, h } from "../dom.js";
import { money, moment, number, plural, seconds } from "../format.js";
import { bar, chip, empty, figures, select, shown, table } from "../parts.js";
import { go, link } from "../route.js";

const MOST = 1000;

export default async function inferences(root, { heading, query, still }) {
  const stage = query.get("stage");
  const body = h("div", { class: "stack" });
  fill(root, h("div", { class: "head" }, heading, h("p", {}, "Every call of a model is kept, also of requests that failed.")), body);
  const work = Promise.all([memory.get("inferences/cost"), memory.get("inferences", { limit: MOST, newest_first: true, stage }), memory.get("models")]);
  await shown(body, work, ([all, page, models]) => {
    const calls = page.items;
    if (!calls.length && !stage) return empty("No model was called yet", "Extraction, summaries and answers are listed here with their cost.");
    const names = new Map(models.items.map((one) => [one.id, one.provider ? `${one.provider}/${one.name}` : one.name]));
    const model = (call) => names.get(call.model_id) ?? "unknown model";
    const stages = [...new Set(calls.map((call) => call.stage))].sort();
    const groups = grouped(calls, (call) => `${call.stage}\u0000${model(call)}`);
    const most = Math.max(1e-12, ...groups.map((one) => one.cost));
    return [
      h("div", { class: "panel padded" }, figures([["tokens read", number(all.tokens_in)], ["tokens written", number(all.tokens_out)], ["spent", money(all.cost)]])),
      h("div", { class: "panel" }, h("header", {}, h("h2", {}, "By stage and model"), page.cursor ? chip(`of the newest ${number(MOST)} calls`) : null), table("Cost by stage and model", [
        { name: "Stage", value: (one) => one.key.split("\u0000")[0] }, { name: "Model", value: (one) => one.key.split("\u0000")[1] },
        { name: "Calls", num: true, value: (one) => number(one.count) }, { name: "Failed", num: true, value: (one) => number(one.failed) },
        { name: "Read", num: true, value: (one) => number(one.read) }, { name: "Written", num: true, value: (one) => number(one.written) },
        { name: "Cost", num: true, value: (one) => money(one.cost) }, { name: "Share of the cost", quiet: true, value: (one) => bar(one.cost / most, `${money(one.cost)}`) }], groups)),
      h("div", { class: "panel" }, h("header", {}, h("h2", {}, page.cursor ? `The newest ${number(calls.length)}` : plural(calls.length, "call")),
        select([["", "Every stage"], ...[...new Set([...stages, stage].filter(Boolean))].map((one) => [one, one])], stage ?? "", (value) => go("inferences", [], { stage: value }), { "aria-label": "Stage" })),
      table("Model calls", [
        { name: "When", kind: "when", value: (call) => moment(call.created_at) }, { name: "Stage", value: (call) => call.stage }, { name: "Model", value: model },
        { name: "Status", value: (call) => (call.status === "ok" ? chip("ok", "good") : chip(call.status, "bad")) }, { name: "Reasoning", value: (call) => call.reasoning },
        { name: "Read", num: true, value: (call) => number(call.tokens_in) }, { name: "Written", num: true, value: (call) => number(call.tokens_out) },
        { name: "Took", num: true, value: (call) => seconds(call.seconds) }, { name: "Cost", num: true, value: (call) => money(call.cost) },
        { name: "For", value: (call) => (call.artifact_id ? h("a", { href: link("artifacts", call.artifact_id) }, "text") : call.session_id ?? "") }], calls.slice(0, 300)))];
  }, { still });
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
