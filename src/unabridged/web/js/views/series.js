// Series: what was measured over time, as a chart and as windows with their statistics.

import { memory, part } from "../api.js";
import { chart } from "../chart.js";
import { bring, fill, h } from "../dom.js";
import { figure, moment, number, plural } from "../format.js";
import { chip, empty, field, figures, growing, select, shown, table } from "../parts.js";
import { go, link } from "../route.js";

const HOUR = 3600;
const DAY = 24 * HOUR;
const WIDTHS = [[60, "1 minute"], [HOUR, "1 hour"], [6 * HOUR, "6 hours"], [DAY, "1 day"], [7 * DAY, "1 week"], [30 * DAY, "30 days"], [91 * DAY, "13 weeks"], [365 * DAY, "365 days"], [3650 * DAY, "10 years"]];
const RAW = 1500; // points drawn one by one; more are drawn as windows
const FINE = 300; // windows of a chart
const ROWS = 40; // windows of a table

export default async function series(root, { heading, rest, query, still }) {
  let chosen = rest[0] ?? null;
  const session = query.get("session");
  const list = h("ul", { class: "rows" });
  const pane = h("section", { class: "stack", "aria-label": "Series" });
  const rows = growing(list, (cursor) => memory.get("series", { session_id: session, limit: 50, cursor, newest_first: true }), (one) => h("li", {},
    h("a", { class: "row-link", href: link("series", one.id, { session }), "aria-current": String(one.id === chosen), data: { id: one.id } },
      h("span", { dir: "auto", class: "breaks" }, one.name), h("span", { class: "small muted" }, [one.unit && `in ${one.unit}`, `since ${moment(one.created_at)}`].filter(Boolean).join(" · ")))),
  { none: empty("No series", "Figures that are remembered with their times, such as a weight or a price, appear here."), counted: (found) => { pane.hidden = !found && chosen === null; } });
  const narrowed = session ? h("header", { class: "line" }, chip(`session ${session}`), h("a", { class: "button little", href: link("series") }, "All series")) : null;
  fill(root, h("div", { class: "head" }, heading), h("div", { class: "artifact-layout" },
    h("section", { class: "panel stack-list", "aria-label": "All series" }, narrowed, list, h("div", { class: "padded-in" }, rows.place)), pane));
  let turn = 0;
  const show = (asked) => {
    const mine = ++turn;
    if (chosen === null) fill(pane, empty("Choose a series", "It is drawn over time, with the figures of each window."));
    else one(pane, chosen, asked, () => still() && mine === turn);
  };
  show(query);
  await rows.first();
  return {
    leave: () => rows.stop(),
    update: ({ rest: now, query: asked }) => {
      if (asked.get("session") !== session) return false;
      const other = (now[0] ?? null) !== chosen;
      chosen = now[0] ?? null;
      for (const row of list.querySelectorAll("a")) row.setAttribute("aria-current", String(row.dataset.id === chosen));
      show(asked);
      if (other) bring(pane);
      return true;
    },
  };
}

function one(pane, id, query, still) {
  const asked = { since: query.get("since"), until: query.get("until") };
  const work = Promise.all([memory.get(`series/${part(id)}`), memory.get(`series/${part(id)}/stats`, asked)]).then(async ([record, [whole]]) => {
    if (!whole) return { record, stats: null };
    const { stats } = whole;
    const span = (new Date(stats.until) - new Date(stats.since)) / 1000;
    const width = Number(query.get("window")) || fitting(span, ROWS);
    const windows = memory.get(`series/${part(id)}/stats`, { ...asked, window: width });
    const drawn = stats.count <= RAW ? memory.get(`series/${part(id)}/points`, asked).then(({ points }) => points.map(([at, value]) => pointOf(at, value, record.unit)))
      : memory.get(`series/${part(id)}/stats`, { ...asked, window: span / FINE }).then((found) => found.map((each) => windowOf(each, record.unit)));
    return { record, stats, width, windows: await windows, drawn: await drawn };
  });
  return shown(pane, work, (found) => parts(found, query, (change) => go("series", [id], { ...Object.fromEntries(query), ...change })), { still });
}

const fitting = (span, most) => (WIDTHS.find(([width]) => span / width <= most) ?? WIDTHS[WIDTHS.length - 1])[0];
const withUnit = (value, unit) => `${figure(value)}${unit ? ` ${unit}` : ""}`;
const pointOf = (at, value, unit) => ({ at: Date.parse(at), value, said: `${moment(at)}: ${withUnit(value, unit)}` });
const windowOf = ({ start, stats }, unit) => ({
  at: (Date.parse(stats.since) + Date.parse(stats.until)) / 2, value: stats.mean, low: stats.minimum, high: stats.maximum,
  said: `from ${moment(start)}: mean ${withUnit(stats.mean, unit)}, ${figure(stats.minimum)} to ${figure(stats.maximum)}, ${plural(stats.count, "point")}`,
});

function parts({ record, stats, width, windows, drawn }, query, change) {
  const day = (name, label) => field(label, h("input", { type: "date", value: query.get(name) ?? "", onChange: (event) => change({ [name]: event.target.value }) }));
  const narrow = h("div", { class: "bar-row" }, day("since", "From"), day("until", "Before"),
    stats ? field("Windows of", select(WIDTHS, width, (value) => change({ window: value }))) : null);
  const head = [h("h2", { dir: "auto", class: "breaks" }, record.name), h("div", { class: "line small muted" }, record.unit ? chip(`in ${record.unit}`) : null,
    record.artifact_id ? h("a", { href: link("artifacts", record.artifact_id) }, "Its text") : null, record.session_id ? h("a", { href: link("sessions", record.session_id) }, `session ${record.session_id}`) : null)];
  if (!stats) return [head, narrow, empty("No points", query.get("since") || query.get("until") ? "None between these days." : "The series has none yet.")];
  const said = `${record.name}: ${plural(stats.count, "point")} from ${moment(stats.since)} to ${moment(stats.until)}, least ${figure(stats.minimum)}, greatest ${figure(stats.maximum)}.`;
  return [head, narrow,
    h("section", { class: "panel padded stack tight", "aria-label": "Chart" }, chart(drawn, { label: said,
      caption: drawn[0].high === undefined ? "Every point. Point at one, or use the arrow keys, to read it." : `${number(drawn.length)} windows: the line is their mean, the band from least to greatest.` })),
    h("div", { class: "panel padded" }, figures([["points", number(stats.count)], ["first", figure(stats.first)], ["last", figure(stats.last)], ["change", signed(stats.change)], ["least", figure(stats.minimum)],
      ["greatest", figure(stats.maximum)], ["mean", figure(stats.mean)], ["deviation", figure(stats.deviation)], ["trend a day", stats.trend === null ? "–" : signed(stats.trend)]])),
    h("section", { class: "panel", "aria-label": "Windows" }, h("header", {}, h("h2", {}, plural(windows.length, "window"))), table(`Statistics of each window of ${record.name}`, [
      { name: "From", kind: "when", value: (each) => moment(each.start) }, { name: "Points", num: true, value: (each) => number(each.stats.count) },
      { name: "Least", num: true, value: (each) => figure(each.stats.minimum) }, { name: "Mean", num: true, value: (each) => figure(each.stats.mean) }, { name: "Greatest", num: true, value: (each) => figure(each.stats.maximum) },
      { name: "First", num: true, value: (each) => figure(each.stats.first) }, { name: "Last", num: true, value: (each) => figure(each.stats.last) }, { name: "Change", num: true, value: (each) => signed(each.stats.change) },
    ], windows.slice(0, 1000)))];
}

const signed = (value) => (value > 0 ? `+${figure(value)}` : figure(value));
