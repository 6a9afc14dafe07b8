// A bunch: an access point, or a gateway with those that help each other by it.

import { revoke } from "./dialogs.js";
import { $, make, setText, show } from "./dom.js";
import { bits, bytes } from "./format.js";

// So many members a page is told of (`web/members.rs`).
const MEMBERS = 256;

// As `ropewalk bunch status` counts them.
const share = (reports, data) => (reports + data ? `${((reports * 100) / (reports + data)).toFixed(1)} %` : "-");

const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

function memberRows(gateway, rates, known) {
  const all = gateway.contributors.reduce((sum, c) => sum + c.bytes, 0);
  const rows = gateway.contributors.map((c) => ({
    key: c.name,
    name: c.name,
    state: c.remote ? "connected" : "not connected",
    tone: c.remote ? "good" : "idle",
    remote: c.remote ?? "-",
    near: c.hears_cells == null ? count(c.neighbours, "neighbour") : `overhears ${count(c.hears_cells, "cell")}`,
    rate: c.remote ? rates[c.name] : null,
    brought: `${bytes(c.bytes)}${all ? `, ${((c.bytes * 100) / all).toFixed(0)} %` : ""}`,
    missed: `${c.failed}, ${c.late}, ${c.damaged}`,
    reports: share(c.report_bytes, c.data_bytes),
    trusted: `${(c.score * 100).toFixed(0)} %`,
  }));
  const there = new Set(rows.map((r) => r.key));
  const others = known.filter((c) => !there.has(c.name));
  // Whoever is left out of the view may be connected.
  const away = rows.length < MEMBERS ? "not connected" : "not known";
  return rows.concat(others.map((c) => ({
    key: c.name,
    name: c.name,
    state: c.came ? away : "invited",
    tone: c.came ? "idle" : "warn",
    remote: "-",
    near: "-",
    rate: null,
    brought: "-",
    missed: "-",
    reports: "-",
    trusted: "-",
  })));
}

const memberColumns = (revoked) => [
  { title: "access point", text: (r) => r.name },
  { title: "state", text: (r) => r.state, tone: (r) => r.tone },
  { title: "uplink", text: (r) => r.remote },
  { title: "near it", text: (r) => r.near },
  { title: "brings", numeric: true, text: (r) => bits(r.rate) },
  { title: "brought", numeric: true, text: (r) => r.brought },
  { title: "failed, late, damaged", numeric: true, text: (r) => r.missed },
  { title: "reports", numeric: true, text: (r) => r.reports },
  { title: "trusted", numeric: true, text: (r) => r.trusted },
  { label: "actions", action: (row, now) => [make("button", { type: "button", "aria-label": `Revoke ${row.name}`, onClick: () => revoke(now().name, revoked) }, "Revoke\u2026")] },
];

const UPLOADS = [
  { title: "sender", text: (u) => u.sender },
  { title: "receiver", text: (u) => u.receiver },
  { title: "class", text: (u) => `${u.protocol}, ${u.state}` },
  { title: "access points", numeric: true, text: (u) => String(u.access_points) },
  { title: "sent on", numeric: true, text: (u) => bytes(u.sent_bytes) },
  { title: "kept", numeric: true, text: (u) => bytes(u.kept_bytes) },
];

function showGateway({ status, rates, left_out: more }, known, { table, sums, revoked }) {
  const left = Object.entries(status.bypassed).map(([why, n]) => `${why} ${n}`);
  sums($("bunch-sums"), [
    ["brought now", bits(Object.values(rates).reduce((sum, r) => sum + r, 0)), "big"],
    ["to receivers", bytes(status.delivered_bytes), "big"],
    ["connections, resets", `${status.sessions}, ${status.resets}`],
    ["kept", bytes(status.kept_bytes)],
    ["turned away", `${status.turned_away} connections, ${status.refused_packets} packets`],
    ["left alone", left.join(", ") || "none"],
  ]);
  table("members-table", "Access points", memberColumns(revoked), memberRows(status, rates, known));
  table("uploads-table", "Uploads", UPLOADS, status.uploads.map((u) => ({ ...u, key: [u.protocol, u.sender, u.receiver].join(" ") })));
  show($("uploads-table"), status.uploads.length > 0);
  setText($("uploads-line"), more ? `${more} more are not shown` : status.uploads.length ? "" : "No connection is known.");
}

function showAccessPoint({ status, rates }, { sums }) {
  const handed = status.handed ? `is handed packets on ${status.handed}: ${count(status.neighbours, "neighbour")}` : "nobody helps it, and it helps nobody";
  const air = status.air && `overhears on ${status.air.interface}${status.air.is_up ? "" : " (not there)"}: ${count(status.air.cells, "cell")}, ${status.air.overheard} packets`;
  const own = Object.keys(rates)[0];
  sums($("bunch-sums"), [
    ["sent for the bunch", bits(rates[own]), "big"],
    ["forwarded", bytes(status.data_bytes), "big"],
    ["home's connections, helped", `${status.flows}, ${status.helped}`],
    ["holds", `${bytes(status.held_bytes)} of ${status.sessions} connections`],
    ["ordinary, dropped", `${status.native_packets}, ${status.dropped_packets} packets`],
    ["reports, no memory", `${share(status.report_bytes, status.data_bytes)}, ${status.refused}`],
    ["neighbours", air ?? handed, "wide"],
  ]);
}

// Shows it; the points of this second for the charts.
export function showBunch(view, known, tools) {
  const { status, rates } = view;
  const gateway = status.role === "gateway";
  show($("members"), gateway);
  show($("invite-member"), gateway);
  const to = status.gateway ? `connected to ${status.gateway}` : "not connected";
  setText($("bunch-line"), gateway ? "" : `${to}${status.captures ? ", helps its home" : ""}`);
  if (gateway) showGateway(view, known, tools);
  else showAccessPoint(view, tools);
  return Object.entries(rates).map(([name, rate]) => ({ series: name, name, better: true, point: { brought: rate } }));
}
