// Small charts on one time axis.

import { bits, clock, dbm, ms, percent, us } from "./format.js";
import { make, setText } from "./dom.js";

// Of a bond's paths, of the access points of a walk, of the members of a bunch, and of one member.
export const PATHS = [
  { key: "up", title: "Up", text: bits, axis: bits },
  { key: "down", title: "Down", text: bits, axis: bits },
  { key: "rtt", title: "Round trip", text: ms, axis: (n) => `${n} ms` },
  { key: "loss", title: "Loss", text: percent, axis: (n) => `${n} %` },
];
export const WALK = [
  { key: "signal", title: "Signal", text: dbm, axis: dbm, range: (least, most) => [least - 3, most + 3] },
  { key: "rate", title: "Rate of the air", text: bits, axis: bits },
  { key: "packet", title: "Air of a packet", text: us, axis: us },
];
export const BROUGHT = [{ key: "brought", title: "Brought", text: bits, axis: bits }];
export const SENT = [{ key: "brought", title: "Sent for the bunch", text: bits, axis: bits }];
// Lines of one chart: more are not told apart.
const LINES = 16;
// The first two lines are blue and orange, which everybody tells apart; from the third on, dashes help.
const DASHES = [[], [], [6, 3], [2, 3]];
export const COLOURS = 8;
const HEIGHT = 150;
// A day has a point each minute, and each is fetched again this often.
const DAY = 86400;

const two = (n) => String(n).padStart(2, "0");

function hours(seconds) {
  return (_, times, __, ___, step) =>
    times.map((t) => {
      const d = new Date(t * 1000);
      const text = `${two(d.getHours())}:${two(d.getMinutes())}`;
      return step < 60 && seconds < DAY ? `${text}:${two(d.getSeconds())}` : text;
    });
}

export class Charts {
  constructor(place) {
    this.place = place;
    this.span = 300;
    this.kinds = PATHS;
    this.past = new Map();
    this.paths = [];
    this.names = new Map();
    this.charts = [];
    this.cursor = null;
    this.now = Date.now() / 1000;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.build());
    new ResizeObserver(() => this.resize()).observe(place);
  }

  // What is known of the past: as the server tells it.
  load(series) {
    for (const s of series) {
      const points = new Map();
      s.t.forEach((t, i) => points.set(t, Object.fromEntries(this.kinds.map(({ key }) => [key, s[key]?.[i]]))));
      // What came while this was fetched stays.
      this.past.get(s.path)?.forEach((point, t) => points.has(t) || points.set(t, point));
      this.past.set(s.path, points);
    }
    this.draw();
  }

  // One more second: of each thing its name and a point. With `keep` a line stays while it shows.
  add(at, things, keep = false) {
    this.now = at;
    const t = Math.floor(at);
    const first = t - Math.max(this.span, 905);
    const seen = ([series]) => [...(this.past.get(series)?.keys() ?? [])].some((when) => when >= t - this.span);
    const old = keep ? [...this.names, ...[...this.past.keys()].map((s) => [s, this.names.get(s) ?? s])] : [];
    const all = new Map([...old.filter(seen), ...things.map((p) => [p.series, p.name])]);
    const names = new Map([...all].slice(-LINES));
    if ([...names].join("\n") !== [...this.names].join("\n")) {
      [this.names, this.paths] = [names, [...names.keys()]];
      this.build();
    }
    if (this.span < DAY) {
      for (const p of things) {
        const points = this.past.get(p.series) ?? new Map();
        this.past.set(p.series, points);
        if (!points.has(t) || p.better) points.set(t, p.point);
      }
    }
    for (const [series, points] of this.past) {
      for (const when of points.keys()) {
        if (when >= first) break;
        points.delete(when);
      }
      if (!points.size) this.past.delete(series);
    }
    this.draw();
  }

  forget() {
    this.past = new Map();
    this.names = new Map();
  }

  // Shows other things.
  setKinds(kinds) {
    if (kinds === this.kinds) return;
    this.kinds = kinds;
    this.forget();
  }

  setSpan(span) {
    this.span = span;
    this.past = new Map();
    this.build();
  }

  colour(index) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--path-${index % COLOURS}`).trim();
  }

  build() {
    const style = getComputedStyle(document.documentElement);
    const [ink, line] = [style.getPropertyValue("--quiet").trim(), style.getPropertyValue("--line").trim()];
    this.charts.forEach((c) => c.plot.destroy());
    this.place.replaceChildren();
    this.charts = this.kinds.map((kind) => {
      const values = this.paths.map((name, i) => {
        const value = make("span", { class: "value" }, "-");
        return { value, element: make("li", { "data-mark": i % COLOURS }, make("span", {}, this.names.get(name)), " ", value) };
      });
      const legend = make("ul", { class: "legend" }, ...values.map((v) => v.element));
      const canvas = make("div", { class: "canvas", role: "img", "aria-label": `${kind.title} over time; the figures are beside it` });
      const figure = make("figure", {}, make("figcaption", {}, make("span", { class: "name" }, kind.title), legend), canvas);
      this.place.append(figure);
      const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
      const options = {
        width: Math.max(canvas.clientWidth, 100),
        height: HEIGHT,
        legend: { show: false },
        padding: [8, 4, 0, 0],
        cursor: { y: false, drag: { x: false, y: false }, sync: { key: "ropewalk" }, points: { size: 5 } },
        scales: { x: { time: true, range: () => [this.now - this.span, this.now] }, y: { range: (_, least, most) => (least != null && kind.range ? kind.range(least, most) : [0, most > 0 ? most * 1.08 : 1]) } },
        axes: [
          { ...axis, values: hours(this.span), space: 70, size: 26 },
          { ...axis, values: (_, all) => all.map(kind.axis), size: 68, space: 36 },
        ],
        series: [{}, ...this.paths.map((name, i) => ({ label: name, stroke: this.colour(i), width: 1.5, dash: DASHES[i % DASHES.length], points: { show: false } }))],
        hooks: { setCursor: [(u) => this.point(u.cursor.idx)] },
      };
      return { kind, values, canvas, plot: new uPlot(options, this.data(kind), canvas) };
    });
    // A chart may have been wider before the others were there.
    this.resize();
    this.draw();
  }

  // Columns of equal length, with gaps where nothing is known.
  data(kind) {
    const step = this.span < DAY ? 1 : 60;
    const end = Math.floor(this.now / step) * step;
    const count = Math.floor(this.span / step) + 1;
    const times = Array.from({ length: count }, (_, i) => end - (count - 1 - i) * step);
    const column = (name) => {
      const points = this.past.get(name);
      return times.map((t) => points?.get(t)?.[kind.key] ?? null);
    };
    return [times, ...this.paths.map(column)];
  }

  draw() {
    for (const chart of this.charts) chart.plot.setData(this.data(chart.kind));
    this.point(this.cursor);
  }

  // The figures in the legends: where the pointer is, or else the latest.
  point(index) {
    this.cursor = index ?? null;
    for (const chart of this.charts) {
      const data = chart.plot.data;
      chart.values.forEach(({ value }, i) => {
        const column = data?.[i + 1] ?? [];
        const latest = column.findLast((v, at) => v != null && at >= column.length - 4);
        const shown = this.cursor == null ? latest : column[this.cursor];
        const when = this.cursor == null || !data[0][this.cursor] ? "" : ` at ${clock(data[0][this.cursor])}`;
        setText(value, chart.kind.text(shown) + when);
      });
    }
  }

  resize() {
    for (const { plot, canvas } of this.charts) {
      const width = Math.floor(canvas.clientWidth);
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
  }
}
