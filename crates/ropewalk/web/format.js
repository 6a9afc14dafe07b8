// Numbers as `ropewalk status` prints them.

function scaled(n, units) {
  let at = 0;
  while (n >= 999.5 && at + 1 < units.length) {
    n /= 1000;
    at += 1;
  }
  return `${at === 0 || n >= 99.95 ? n.toFixed(0) : n.toFixed(1)} ${units[at]}`;
}

export const bytes = (n) => (n == null ? "-" : scaled(n, ["B", "kB", "MB", "GB", "TB"]));
export const bits = (n) => (n == null ? "-" : scaled(n, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"]));
export const ms = (n) => (n == null ? "-" : `${n.toFixed(1)} ms`);
export const us = (n) => (n == null ? "-" : `${n.toFixed(0)} us`);
export const dbm = (n) => (n == null ? "-" : `${n.toFixed(0)} dBm`);
export const wholePercent = (n) => (n == null ? "-" : `${n.toFixed(0)} %`);
export const percent = (n) => (n == null ? "-" : `${n.toFixed(2)} %`);

export function time(seconds) {
  const s = Math.floor(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

// As the command line takes them: 10GB, 20Mbit.
const written = (n, units) => {
  const [scale, unit] = units.find(([s]) => n % s === 0);
  return `${n / scale}${unit}`;
};
export const amount = (n) => written(n, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
export const rate = (n) => written(n, [[1e9, "Gbit"], [1e6, "Mbit"], [1e3, "kbit"], [1, "bit"]]);

// What is used of a quota, and what is left.
export function quota(q) {
  const used = `${bytes(q.used_bytes)} of ${bytes(q.bytes)} ${q.per === "day" ? "today" : "this month"}`;
  if (q.state === "open") return `${used}, ${bytes(Math.max(0, q.bytes - q.used_bytes))} left`;
  return `${used}, ${q.state}${q.then_bps ? ` to ${rate(q.then_bps)}` : ""} until ${q.until}`;
}

const two = (n) => String(n).padStart(2, "0");

// The time of day; with the date where it is not today's.
export function clock(at) {
  const d = new Date(at * 1000);
  const text = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  if (d.toDateString() === new Date().toDateString()) return text;
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${text}`;
}
