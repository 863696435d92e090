// Figures, moments and amounts as people read them.

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" });
const minute = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC",
});

export const number = (value) => (value === null || value === undefined ? "–" : whole.format(value));
export const decimal = (value) => (value === null || value === undefined ? "–" : tenth.format(value));
export const percent = (share) => (share === null || share === undefined ? "–" : `${tenth.format(share * 100)} %`);

const digits = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 4 });
const tiny = new Intl.NumberFormat(undefined, { notation: "scientific", maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumSignificantDigits: 4 });
/** A measured value: four digits that count, whole numbers whole. */
export function figure(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return tiny.format(value);
  if (size >= 1e6) return compact.format(value);
  return size >= 1000 ? tenth.format(value) : digits.format(value);
}

/** `3 chunks`, `1 chunk`. */
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** Dollars, with as many digits as tell small amounts apart. */
export function money(value) {
  if (value === null || value === undefined) return "price unknown";
  if (value === 0) return "free";
  if (value < 0.0001) return "< $0.0001";
  return `$${value.toFixed(value < 0.1 ? 4 : 2)}`;
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) { value /= 1000; at += 1; }
  return `${at ? decimal(value) : value} ${units[at]}`;
}

/** A moment (ISO 8601 or milliseconds) to the minute, in UTC; midnights are days. */
export function moment(value) {
  if (value === null || value === undefined) return "–";
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return String(value);
  return at.getTime() % 86_400_000 === 0 ? day.format(at) : minute.format(at);
}

export const date = (value) => (value === null || value === undefined ? "–" : day.format(new Date(value)));

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${number(value * 1000)} ms`;
  if (value < 90) return `${decimal(value)} s`;
  return value < 5400 ? `${decimal(value / 60)} min` : `${decimal(value / 3600)} h`;
}

/** The beginning of a text, on one line. */
export function opening(text, most = 140) {
  const line = (text ?? "").slice(0, most * 3).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

const STEPS = [60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600].map((one) => one * 1000);
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12_000];
const MONTH = 30.4 * 86_400_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
const short = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const month = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", timeZone: "UTC" });

/** At most so many round moments between two (milliseconds), each with its words: {at, text}. */
export function ticksOf(first, last, most) {
  const step = STEPS.find((one) => (last - first) / one <= most);
  return step ? inDays(first, last, step) : inMonths(first, last, MONTHS.find((one) => (last - first) / MONTH / one <= most) ?? 120_000);
}

function inDays(first, last, step) {
  const found = [];
  for (let at = Math.ceil(first / step) * step; at <= last; at += step) found.push({ at, text: at % 86_400_000 ? clock.format(at) : short.format(at) });
  return found;
}

function inMonths(first, last, step) {
  const begin = new Date(first);
  const months = begin.getUTCFullYear() * 12 + begin.getUTCMonth();
  const found = [];
  for (let at = Math.ceil(months / step) * step; ; at += step) {
    const begins = new Date(0).setUTCFullYear(Math.floor(at / 12), at % 12, 1);
    if (begins > last) return found;
    if (begins >= first) found.push({ at: begins, text: step % 12 ? month.format(begins) : String(Math.floor(at / 12)) });
  }
}
