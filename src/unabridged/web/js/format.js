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
