// The page: takes what the server tells, and shows it.

import { get, listen, open } from "./api.js";
import { BROUGHT, Charts, COLOURS, PATHS, SENT, WALK } from "./charts.js";
import { addPath, changeClient, changeGroup, changePath, forwardPort, giveExit, invite, makeGroup, revoke, withdraw } from "./dialogs.js";
import { $, Table, keepFocus, make, setText, show } from "./dom.js";
import { bits, bytes, clock, dbm, ms, percent, quota, time, us, wholePercent } from "./format.js";
import { showBunch } from "./bunch.js";

const TONES = { active: "good", suspect: "warn", validating: "warn", backup: "good", joining: "warn" };
const LINES = 12;
const FLOWS_EVERY = 2000;
// What others grant and use is seen after so long.
const GRANTS_EVERY = 10000;

const page = { view: null, peer: null, span: 300, known: [], invited: 0, grants: null, tables: {}, all: false, timeline: [], heard: 0 };
const charts = new Charts($("charts"));

const isGateway = () => page.view.role === "gateway" || page.view.role === "ap";
// Who can let others in.
const invites = () => isGateway() || page.view.role === "bunch gateway";
// Who can grant something, and hold clients to quotas.
const grants = () => page.view.role === "gateway";
const sum = (paths, key) => paths.reduce((all, p) => (p[key] == null ? all : (all ?? 0) + p[key]), null);

// Rows of the table of paths: at a client one for each interface that is to be used, whether it can be or not.
function pathRows(peer) {
  const paths = peer?.paths ?? [];
  const colours = [...new Set(paths.map((p) => p.series))];
  const mark = (path) => (path ? colours.indexOf(path.series) % COLOURS : -1);
  const row = (key, name, path, uplink) => ({ key, name, path, uplink, mark: mark(path) });
  const uplinks = page.view.uplinks;
  if (!uplinks.length) return paths.map((p) => row(`${p.series} ${p.remote}`, p.name, p, null));
  return uplinks.map((uplink) => {
    const mine = paths.filter((p) => uplink.paths.includes(p.id));
    const path = mine.find((p) => p.state === "active") ?? mine[0] ?? null;
    return row(uplink.name, uplink.name, path, uplink);
  });
}

const stateOf = ({ path }) => path?.state ?? "waits";

// With what carries it, where that is not UDP.
const shownName = ({ name, path }) => (path?.carrier === "tls" ? `${name} by TLS` : name);

function classOf({ path, uplink }) {
  const name = uplink?.class ?? path.class;
  const left = path?.allowance ?? uplink?.left;
  if (left == null) return name;
  return uplink?.cap ? `${name}, ${bytes(left)} of ${bytes(uplink.cap)} left` : `${name}, ${bytes(left)} left`;
}

function pathColumns() {
  const of = (f) => (row) => (row.path ? f(row.path) : "-");
  const columns = [
    { title: "path", text: shownName, mark: (r) => r.mark },
    { title: "state", text: stateOf, tone: (r) => (r.path ? (TONES[r.path.state] ?? "bad") : "bad") },
    { title: "class", text: classOf },
    { title: "rtt", numeric: true, text: of((p) => ms(p.rtt_ms)) },
    { title: "queue", numeric: true, text: of((p) => ms(p.queue_ms)) },
    { title: "up", numeric: true, text: of((p) => bits(p.up_bps)) },
    { title: "down", numeric: true, text: of((p) => bits(p.down_bps)) },
    { title: "loss", numeric: true, text: of((p) => percent(p.loss)) },
    { title: "carried", text: of((p) => `${bytes(p.sent_bytes)} out, ${bytes(p.received_bytes)} in`) },
  ];
  const button = (row, now) => [make("button", { type: "button", "aria-label": `Change path ${row.name}`, onClick: () => changePath(now().uplink) }, "Change\u2026")];
  if (page.view.uplinks.length) columns.push({ label: "actions", action: button });
  return columns;
}

function clientRows() {
  const rows = page.view.peers.map((p) => ({
    key: p.name,
    name: p.name,
    state: p.up ? "connected" : "not connected",
    tone: p.up ? "good" : "idle",
    inside: p.inside.join(" "),
    paths: String(p.paths.length),
    up: sum(p.paths, "up_bps"),
    down: sum(p.paths, "down_bps"),
    heard: p.up ? `${time(p.silent_s)} ago` : "-",
    quota: p.quota,
    peer: p,
  }));
  const there = new Set(rows.map((r) => r.name));
  const others = page.known.filter((c) => !there.has(c.name));
  // Whoever is left out of the view may be connected.
  const away = page.view.left_out ? "not known" : "not connected";
  return rows.concat(others.map((c) => ({
    key: c.name,
    name: c.name,
    state: c.came ? away : "invited",
    tone: c.came ? "idle" : "warn",
    inside: c.inside.join(" ") || "-",
    paths: "-",
    up: null,
    down: null,
    heard: "-",
    quota: c.quota,
    peer: null,
  })));
}

const names = () => clientRows().map((r) => r.name).sort();

function clientColumns(rows) {
  const change = (row) => changeClient(row.name, row.quota, page.grants?.limits[row.name], learnClients);
  const buttons = (row, now) => [
    make("button", { type: "button", class: "select", "aria-label": `Show ${row.name}`, onClick: () => select(now().name) }, "Show"),
    grants() ? make("button", { type: "button", "aria-label": `Change ${row.name}`, onClick: () => change(now()) }, "Change\u2026") : "",
    make("button", { type: "button", "aria-label": `Revoke ${row.name}`, onClick: () => revoke(now().name, learnClients) }, "Revoke\u2026"),
  ];
  const held = { title: "quota", text: (r) => (r.quota ? quota(r.quota) : "-"), tone: (r) => (r.quota && r.quota.state !== "open" ? "bad" : "") };
  return [
    { title: "client", text: (r) => r.name },
    { title: "state", text: (r) => r.state, tone: (r) => r.tone },
    { title: "address", text: (r) => r.inside },
    { title: "paths", numeric: true, text: (r) => r.paths },
    { title: "up", numeric: true, text: (r) => bits(r.up) },
    { title: "down", numeric: true, text: (r) => bits(r.down) },
    { title: "heard", text: (r) => r.heard },
    ...(rows.some((r) => r.quota) ? [held] : []),
    { label: "actions", action: buttons },
  ];
}

// All that is granted, one line each.
function grantRows({ forwards, limits, groups, exits }) {
  const rows = forwards.map((f) => {
    const [what, name] = [`${f.protocol} port ${f.port}`, `forward ${f.protocol} ${f.port}`];
    const words = `Nobody reaches ${f.client} by ${what} of this gateway any more; connections that go by it end.`;
    const remove = { title: `Remove ${what}?`, words, what: { "forward-remove": { protocol: f.protocol, port: f.port } } };
    return { key: name, what, whose: f.client, how: `leads to port ${f.to}${f.masquerade ? ", masqueraded" : ""}`, remove };
  });
  for (const [client, l] of Object.entries(limits)) {
    const share = l.share ? `, share ${l.share}` : "";
    const words = `${client} sends and receives as fast as it can${share && ", and its share of a full line is 1"}.`;
    const remove = { title: `Remove the cap and share of ${client}?`, words, what: { "limit-remove": { client } } };
    rows.push({ key: `cap ${client}`, what: "cap", whose: client, how: `down ${l.down ?? "no cap"}, up ${l.up ?? "no cap"}${share}`, remove });
  }
  for (const [group, members] of Object.entries(groups)) {
    const words = "Its members reach each other no more. An exit of the group ends with it.";
    const remove = { title: `Remove group ${group}?`, words, what: { "group-remove": { group, clients: [] } } };
    rows.push({ key: `group ${group}`, what: `group ${group}`, whose: members.join(", "), how: "reach each other", remove, group, members });
  }
  const exit = (kind) => ([name, e]) => {
    const whose = kind === "group" ? `group ${name}` : name;
    const words = `What ${whose} sends leaves as the gateway\u2019s own does; open connections end.`;
    const remove = { title: `Remove the exit of ${whose}?`, words, what: { "exit-remove": { whose: { [kind]: name } } } };
    return { key: `exit ${whose}`, what: "exit", whose, how: `leaves by ${e.interface}${e.global6 ? ", IPv6 untranslated" : ""}`, remove };
  };
  rows.push(...Object.entries(exits?.clients ?? {}).map(exit("client")), ...Object.entries(exits?.groups ?? {}).map(exit("group")));
  return rows;
}

function showGrants() {
  show($("grants"), grants() && page.grants);
  if (!grants() || !page.grants) return;
  const actions = (row, now) => [
    row.group && make("button", { type: "button", "aria-label": `Change group ${row.group}`, onClick: () => changeGroup(now().group, now().members, names(), learnClients) }, "Change\u2026"),
    make("button", { type: "button", "aria-label": row.remove.title.replace("?", ""), onClick: () => withdraw(row.remove.title, row.remove.words, row.remove.what, learnClients) }, "Remove\u2026"),
  ].filter(Boolean);
  const columns = [
    { title: "what", text: (r) => r.what },
    { title: "whose", text: (r) => r.whose },
    { title: "how", text: (r) => r.how },
    { label: "actions", action: actions },
  ];
  const rows = grantRows(page.grants);
  show($("grants-table"), rows.length > 0);
  table("grants-table", "Granted", columns, rows);
  setText($("grants-line"), rows.length ? "" : "Nothing: no port is forwarded, no client has a cap or a share, clients do not reach each other.");
  for (const button of $("grants").querySelectorAll(".actions button")) button.disabled = !names().length;
}

function flowColumns() {
  const columns = [
    { title: "there", text: (f) => f.there },
    { title: "here", text: (f) => f.here },
    { title: "class", text: (f) => `${f.protocol}, ${f.class}` },
    { title: "up", numeric: true, text: (f) => bits(f.sent_bps) },
    { title: "down", numeric: true, text: (f) => bits(f.received_bps) },
    { title: "carried", text: (f) => `${bytes(f.sent_bytes)} out, ${bytes(f.received_bytes)} in` },
    { title: "longest gap", numeric: true, text: (f) => ms(f.longest_gap_ms) },
    { title: "idle", text: (f) => time(f.idle_s) },
  ];
  return isGateway() ? [{ title: "client", text: (f) => f.peer }, ...columns] : columns;
}

// Asked for only while they are shown, and the page is.
async function learnFlows() {
  if (!page.view || $("flows-list").hidden || document.hidden) return;
  const answer = await get("/api/flows").catch((error) => ({ counted: true, total: 0, flows: [], error: error.message }));
  const key = (f) => [f.peer, f.protocol, f.here, f.there].join(" ");
  table("flows-table", "Connections", flowColumns(), answer.flows.map((f) => ({ ...f, key: key(f) })));
  let line = answer.total > answer.flows.length ? `${answer.total - answer.flows.length} more are not shown` : "";
  if (!answer.total) line = answer.counted ? "No connections of late." : "Not counted: flows = false in [engine].";
  setText($("flows-line"), answer.error ?? line);
}

const WORKERS = [
  { title: "worker", text: (w) => String(w.number) },
  { title: "sessions", numeric: true, text: (w) => String(w.sessions) },
  { title: "busy", numeric: true, text: (w) => wholePercent(w.busy) },
  { title: "handed on", numeric: true, text: (w) => String(w.handed_on) },
  { title: "dropped", numeric: true, text: (w) => String(w.handed_on_lost) },
];

function showWorkers({ workers }) {
  show($("workers"), workers.length > 0);
  table("workers-table", "Workers", WORKERS, workers.map((w, number) => ({ ...w, number, key: `worker ${number}` })));
}

function roamColumns() {
  return [
    { title: "interface", text: (a) => a.interface },
    { title: "state", text: (a) => `${a.state} ${time(a.for_s)}`, tone: (a) => TONES[a.state] ?? "bad" },
    { title: "access point", text: (a) => a.bssid },
    { title: "network", text: (a) => a.ssid },
    { title: "signal", numeric: true, text: (a) => dbm(a.signal_dbm) },
    { title: "rate", numeric: true, text: (a) => bits(a.rate_bps) },
    { title: "packet", numeric: true, text: (a) => (a.packet_time_us == null || a.measured ? "" : "~") + us(a.packet_time_us) },
    { title: "address", text: (a) => a.address ?? "-" },
    { title: "why", text: (a) => a.why },
  ];
}

// A table is made once, and again where its columns are others. The focus stays in it.
function table(place, label, columns, rows) {
  const titles = columns.map((c) => c.title).join();
  const giveFocusBack = $(place).contains(document.activeElement) && keepFocus();
  if (page.tables[place]?.titles !== titles) page.tables[place] = { titles, table: new Table($(place), label, columns) };
  page.tables[place].table.update(rows);
  if (giveFocusBack) giveFocusBack();
}

// Figures with their names: [name, text, size].
function sums(place, values) {
  const names = values.map(([name]) => name).join();
  if (place.dataset.names !== names) {
    place.dataset.names = names;
    place.replaceChildren(...values.map(([name, , size]) => make("div", { class: size ?? null }, make("dt", {}, name), make("dd"))));
  }
  values.forEach(([, text], i) => setText(place.children[i].lastChild, text));
}

function showSums(peer) {
  const values = [
    ["up", bits(sum(peer.paths, "up_bps")), "big"],
    ["down", bits(sum(peer.paths, "down_bps")), "big"],
    ["queue, and its wait", `${bytes(peer.queue_bytes)}, ${ms(peer.queue_wait_ms)}`],
    ["dropped, marked", `${peer.dropped}, ${peer.marked}`],
    ["held for order", bytes(peer.held_bytes)],
    ["sent again, late", `${peer.resent}, ${peer.late}`],
  ];
  if (page.view.gateway) values.push(["gateway", page.view.gateway, "wide"]);
  if (peer.backhaul) values.push(["clients behind it", peer.backhaul, "wide"]);
  if (peer.quota) values.push(["quota", quota(peer.quota), "wide"]);
  sums($("sums"), values);
}

// A path's second, for the charts. A gateway's paths are named by addresses without ports.
function pathPoint(p) {
  const better = p.state === "active";
  const point = { up: p.up_bps, down: p.down_bps, rtt: better ? p.rtt_ms : null, loss: p.loss_now };
  return { series: p.series, name: p.name.replace(/:\d+$/, ""), better, point };
}

function showRoam({ access_points: all }) {
  table("roam-table", "Access points", roamColumns(), all.map((a) => ({ ...a, key: `${a.interface} ${a.bssid}` })));
  const here = all.filter((a) => a.state !== "left");
  const point = (a) => ({ signal: a.signal_dbm, rate: a.rate_bps, packet: a.packet_time_us });
  charts.add(page.view.at, here.map((a) => ({ series: a.bssid, name: `${a.interface} ${a.bssid}`, better: a.state === "active", point: point(a) })), true);
}

function showSession(peer) {
  const state = peer.up ? "connected" : "not connected";
  const parts = [state, peer.inside.join(" and "), peer.cipher, peer.silent_s >= 1 && peer.up ? `last heard ${time(peer.silent_s)} ago` : ""];
  setText($("session-title"), isGateway() ? peer.name : "Session");
  setText($("session-line"), parts.filter(Boolean).join(", "));
  showSums(peer);
  const rows = pathRows(peer);
  table("paths-table", "Paths", pathColumns(), rows);
  const air = peer.paths.filter((p) => p.air).map((p) => `Air of ${p.name}: ${p.air}.`);
  setText($("air-line"), air.join(" "));
  show($("air-line"), air.length > 0);
  charts.add(page.view.at, peer.paths.map(pathPoint));
}

function current() {
  const { peers } = page.view;
  return peers.find((p) => p.name === page.peer) ?? peers.find((p) => p.up) ?? peers[0] ?? null;
}

async function select(name) {
  page.peer = name;
  charts.forget();
  if (page.view) now(page.view);
  await learnPast();
}

async function learnPast() {
  if (!page.view) return;
  const [peer, other] = [current(), page.view.roam ? "roam" : page.view.bunch && "bunch"];
  if (!peer && !other) return;
  const span = page.span < 86400 ? "seconds" : "minutes";
  charts.load(await get(`/api/history?span=${span}&${other ? `of=${other}` : `peer=${peer.name}`}`).catch(() => []));
}

async function learnClients() {
  if (!page.view || !invites()) return;
  const known = await get("/api/clients").catch(() => null);
  if (known) [page.known, page.invited] = [known.clients, known.total];
  if (grants()) page.grants = await get("/api/grants").catch(() => page.grants);
  now(page.view);
}

function now(view) {
  const first = !page.view || page.view.role !== view.role;
  page.view = view;
  setState("live", "good");
  show($("trouble"), false);
  setText($("who"), `${view.role} ${view.device}, up ${time(view.uptime_s)}`);
  document.title = `${view.device} \u2013 Ropewalk`;
  const [roam, bunch] = [view.roam, view.bunch];
  const ofBunch = bunch?.status.role === "gateway" ? BROUGHT : SENT;
  charts.setKinds(roam ? WALK : bunch ? ofBunch : PATHS);
  show($("roam"), roam);
  show($("bunch"), bunch);
  show($("past"), true);
  const peer = current();
  show($("history"), peer || roam || bunch);
  setText($("history-line"), roam || bunch ? "Kept while the page\u2019s server runs." : "Each second of 15 minutes is kept while the page\u2019s server runs, each minute of a day also when it is started anew.");
  show($("clients"), isGateway());
  show($("add-path"), !isGateway());
  show($("bond"), peer || isGateway());
  for (const section of document.querySelectorAll("#bond > section:not(#clients, #grants, #workers)")) show(section, peer);
  if (isGateway()) {
    const rows = clientRows();
    table("clients-table", "Clients", clientColumns(rows), rows);
    markSelected();
  }
  showGrants();
  showWorkers(view);
  if (peer) showSession(peer);
  if (roam) showRoam(roam);
  if (bunch) charts.add(view.at, showBunch(bunch, page.known, { table, sums, revoked: learnClients }), true);
  const notes = [...view.notes];
  notes.push(...view.uplinks.filter((u) => u.obstacle).map((u) => `${u.name} waits: ${u.obstacle}`));
  if (view.radio) notes.unshift(`dedicated radio: ${view.radio}`);
  if (view.left_out) notes.unshift(`${view.left_out} sessions more are not shown`);
  if (page.known.length < page.invited) notes.unshift(`${page.known.length} of ${page.invited} clients are listed, by name; \`ropewalk clients\` lists all`);
  show($("notes"), notes.length > 0);
  if (page.notes !== notes.join("\n")) {
    page.notes = notes.join("\n");
    $("notes-list").replaceChildren(...notes.map((n) => make("li", {}, n)));
  }
  if (first) {
    learnPast();
    learnClients();
  }
}

function markSelected() {
  const name = current()?.name;
  for (const line of $("clients-table").querySelectorAll("tbody tr")) {
    const button = line.querySelector(".select");
    const there = page.view.peers.some((p) => p.name === line.dataset.key);
    button.disabled = !there;
    button.setAttribute("aria-pressed", line.dataset.key === name);
  }
}

function setState(text, tone) {
  setText($("link-state"), text);
  $("link-state").dataset.tone = tone;
}

function trouble(text) {
  setText($("trouble"), text);
  show($("trouble"), true);
}

function timeline(entries) {
  page.timeline = entries;
  const shown = page.all ? entries : entries.slice(0, LINES);
  show($("earlier"), shown.length < entries.length);
  const line = (e) => make("li", { "data-tone": e.tone, "data-lasts": e.lasts },
    make("time", { datetime: new Date(e.at * 1000).toISOString() }, clock(e.at)), make("span", {}, e.text));
  const empty = make("li", { class: "quiet" }, "Nothing yet.");
  $("timeline").replaceChildren(...(shown.length ? shown.map(line) : [empty]));
  // What is new is also told to those who listen.
  const last = Math.max(0, ...entries.map((e) => e.id));
  const news = entries.filter((e) => e.id > page.heard).map((e) => e.text);
  if (page.heard) setText($("heard"), news.slice(0, 3).join("; "));
  page.heard = Math.max(page.heard, last);
  if (news.length) learnClients();
}

async function start() {
  try {
    await open();
  } catch (error) {
    trouble(error.message);
  }
  $("add-path").addEventListener("click", addPath);
  for (const id of ["invite", "invite-member"]) $(id).addEventListener("click", () => invite(page.view.role, learnClients));
  $("forward").addEventListener("click", () => forwardPort(names(), learnClients));
  $("group").addEventListener("click", () => makeGroup(names(), learnClients));
  $("exit").addEventListener("click", () => giveExit(names(), Object.keys(page.grants?.groups ?? {}), learnClients));
  setInterval(() => !document.hidden && learnClients(), GRANTS_EVERY);
  $("flows-toggle").addEventListener("click", () => {
    const shown = $("flows-list").hidden;
    show($("flows-list"), shown);
    $("flows-toggle").setAttribute("aria-expanded", shown);
    setText($("flows-toggle"), shown ? "Hide" : "Show");
    learnFlows();
  });
  setInterval(learnFlows, FLOWS_EVERY);
  $("earlier").addEventListener("click", () => {
    page.all = true;
    timeline(page.timeline);
  });
  $("span").addEventListener("click", (event) => {
    const span = Number(event.target.dataset.span);
    if (!span) return;
    for (const b of $("span").children) b.setAttribute("aria-pressed", b === event.target);
    page.span = span;
    charts.setSpan(span);
    learnPast();
  });
  setInterval(() => page.span >= 86400 && learnPast(), 30000);
  listen({
    now,
    timeline,
    gone: ({ why }) => {
      setState("no daemon", "bad");
      trouble(why);
    },
    lost: (why, forGood) => {
      setState(forGood ? "closed" : "not reached", "bad");
      trouble(why?.startsWith("open the link") ? why : "`ropewalk web` does not answer; it is tried again");
    },
  });
}

start();
