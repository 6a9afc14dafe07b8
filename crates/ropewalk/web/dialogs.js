// What can be changed, each in a dialog of its own.

import { act } from "./api.js";
import { keepFocus, make, say } from "./dom.js";
import { amount, rate } from "./format.js";

let number = 0;
let giveFocusBack;

function field(title, input, hint) {
  number += 1;
  input.id = `field-${number}`;
  const told = hint && make("small", { id: `hint-${number}` }, hint);
  if (told) input.setAttribute("aria-describedby", told.id);
  return make("p", { class: "field" }, make("label", { for: input.id }, title), input, told);
}

// A dialog whose form does something; it stays open where that fails, and says why.
function dialog(title, content, submit, work, ...more) {
  number += 1;
  const wrong = make("p", { class: "wrong", role: "alert" });
  const heading = make("h2", { id: `dialog-${number}` }, title);
  const close = make("button", { type: "button", onClick: () => box.close() }, submit ? "Cancel" : "Close");
  const go = submit && make("button", { type: "submit", class: "primary" }, submit);
  const form = make("form", {}, heading, ...content, wrong, make("div", { class: "buttons" }, ...more, close, go));
  const box = make("dialog", { "aria-labelledby": heading.id }, form);
  const attempt = async (what) => {
    wrong.textContent = "";
    // A button that is disabled loses the focus.
    const stay = keepFocus();
    for (const b of form.querySelectorAll("button")) b.disabled = true;
    try {
      const after = await what();
      box.close();
      after?.();
    } catch (error) {
      wrong.textContent = error.message;
    }
    for (const b of form.querySelectorAll("button")) b.disabled = false;
    stay();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (work) attempt(work);
  });
  // The browser knows the button that opened it only while live data does not make that button anew. Of dialogs
  // that open one another the first one's counts.
  if (!document.querySelector("dialog")) giveFocusBack = keepFocus();
  box.addEventListener("close", () => {
    box.remove();
    giveFocusBack();
  });
  document.body.append(box);
  box.showModal();
  return { box, attempt };
}

async function change(action, done) {
  const outcome = await act(action);
  return () => say(outcome.said || done);
}

const CLASSES = [
  ["active", "always used"],
  ["backup", "used while no other path works"],
  ["metered", "used until its cap is used up"],
];

function settings(now) {
  const options = CLASSES.map(([name, hint]) => {
    const radio = make("input", { type: "radio", name: "class", value: name, checked: now.class === name, autofocus: now.class === name });
    return make("label", { class: "option" }, radio, make("span", {}, make("b", {}, name), ` ${hint}`));
  });
  const cap = make("input", { type: "text", autocomplete: "off", placeholder: "10GB", value: now.cap ? amount(now.cap) : "" });
  const day = make("input", { type: "number", min: 1, max: 31, value: now.reset_day ?? 1 });
  const weight = make("input", { type: "number", min: 1, max: 1000, value: now.weight ?? 1 });
  const metered = make("div", { class: "pair" },
    field("Cap in a month", cap, "such as 10GB, both directions together"),
    field("It begins anew on day", day));
  const classes = make("fieldset", {}, make("legend", {}, "Class"), ...options);
  const chosen = () => classes.querySelector("input:checked")?.value ?? "active";
  const follow = () => (metered.hidden = chosen() !== "metered");
  classes.addEventListener("change", follow);
  follow();
  const read = () => {
    const said = { class: chosen(), weight: Number(weight.value) };
    if (said.class === "metered") {
      if (cap.value.trim()) said.cap = cap.value.trim();
      said.reset_day = Number(day.value);
    }
    return said;
  };
  return { content: [classes, metered, field("Weight", weight, "its share under the scheduler \u201cweighted\u201d; others ignore it")], read };
}

export function changePath(uplink) {
  const name = uplink.name;
  const { content, read } = settings(uplink);
  const remove = make("button", { type: "button", class: "danger", onClick: () => removePath(name, () => opened.box.close()) }, "Remove this path\u2026");
  const opened = dialog(`Path ${name}`, content, "Save", () => change({ do: "path-set", name, options: read() }, `${name} is changed`), remove);
}

function removePath(name, closeOther) {
  const words = "Nothing is sent by it any more, until it is added again or the client starts again.";
  dialog(`Remove path ${name}?`, [make("p", {}, words)], "Remove", async () => {
    const after = await change({ do: "path-remove", name }, `${name} is removed`);
    closeOther();
    return after;
  });
}

export function addPath() {
  const name = make("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false", placeholder: "wwan0" });
  const { content, read } = settings({ class: "active" });
  const options = () => {
    const said = read();
    // What was set earlier for this interface stays, where nothing else is asked for.
    return said.class === "active" && said.weight === 1 ? {} : said;
  };
  const work = () => change({ do: "path-add", name: name.value.trim(), options: options() }, `${name.value.trim()} is added`);
  dialog("Add a path", [field("Interface", name, "or IFACE@HOST:PORT for an address of its own"), ...content], "Add", work);
}

const text = (placeholder, value = "", required = false) =>
  make("input", { type: "text", required, autocomplete: "off", spellcheck: "false", placeholder, value });

function choice(title, name, options, chosen) {
  const all = options.map(([value, words]) =>
    make("label", { class: "option" }, make("input", { type: "radio", name, value, checked: value === chosen }), make("span", {}, words)));
  const set = make("fieldset", {}, make("legend", {}, title), ...all);
  return { set, chosen: () => set.querySelector("input:checked").value };
}

// A client's quota, its cap and its share. Only what is another than before is asked for.
export function changeClient(name, quota, limit, after) {
  const most = text("100GB", quota ? amount(quota.bytes) : "");
  const per = choice("Quota in a", "per", [["month", "month"], ["day", "day"]], quota?.per ?? "month");
  const then = text("1Mbit", quota?.then_bps ? rate(quota.then_bps) : "");
  const [down, up] = [text("20Mbit", limit?.down ?? ""), text("5Mbit", limit?.up ?? "")];
  const share = make("input", { type: "number", min: 1, max: 100, placeholder: "1", value: limit?.share ?? "" });
  const said = (input) => input.value.trim();
  const quotaNow = () => (said(most) ? { amount: said(most), per: per.chosen(), then: said(then) || null } : null);
  const limitNow = () => {
    const now = { down: said(down) || null, up: said(up) || null, share: said(share) ? Number(said(share)) : null };
    return now.down || now.up || now.share ? now : null;
  };
  const before = [JSON.stringify(quotaNow()), JSON.stringify(limitNow())];
  const content = [
    field("Quota", most, "such as 100GB, both directions together; left empty: none"),
    per.set,
    field("Slow it to, once that is used up", then, "such as 1Mbit; left empty: it is stopped"),
    make("div", { class: "pair" },
      field("Cap to the client", down, "such as 20Mbit; left empty: none"),
      field("Cap from the client", up, "such as 5Mbit; left empty: none")),
    field("Share of a full line", share, "1 to 100; left empty: 1. The gateway needs --down-rate"),
  ];
  dialog(`Client ${name}`, content, "Save", async () => {
    const told = [];
    const [quota, limit] = [quotaNow(), limitNow()];
    if (JSON.stringify(quota) !== before[0]) {
      told.push((await act({ do: "quota", change: { client: name, to: quota } })).said);
      before[0] = JSON.stringify(quota);
    }
    if (JSON.stringify(limit) !== before[1]) {
      const change = limit ? { "limit-set": { client: name, limit } } : { "limit-remove": { client: name } };
      told.push((await act({ do: "grant", change })).said);
      before[1] = JSON.stringify(limit);
    }
    return () => {
      say(told.join("; ") || "Nothing was changed.");
      after();
    };
  });
}

// Asks for something that is granted, or to take it; the page hears of it.
async function grant(what, done, after) {
  const told = await change({ do: "grant", change: what }, done);
  return () => {
    told();
    after();
  };
}

// A port of the gateway that leads to a client.
export function forwardPort(names, after) {
  const client = make("select", {}, ...names.map((n) => make("option", { value: n }, n)));
  const protocol = choice("Protocol", "protocol", [["tcp", "TCP"], ["udp", "UDP"]], "tcp");
  const numeric = (required) => make("input", { type: "number", min: 1, max: 65535, required });
  const [port, to] = [numeric(true), numeric(false)];
  const masquerade = make("input", { type: "checkbox" });
  const hint = "Show the client the gateway\u2019s address as the visitor\u2019s: needed where the client does not route everything through the bond";
  const content = [
    field("Client", client),
    protocol.set,
    make("div", { class: "pair" },
      field("Port of the gateway", port),
      field("Port of the client", to, "left empty: the same")),
    make("label", { class: "option" }, masquerade, make("span", {}, hint)),
  ];
  dialog("Forward a port", content, "Forward", async () => {
    const forward = { client: client.value, protocol: protocol.chosen(), port: Number(port.value), to: Number(to.value || port.value), masquerade: masquerade.checked };
    return grant({ "forward-add": forward }, "The port is forwarded", after);
  });
}

// Clients to choose members of a group from.
function choose(names, chosen) {
  const boxes = names.map((n) => make("input", { type: "checkbox", value: n, checked: chosen.includes(n) }));
  const options = boxes.map((box) => make("label", { class: "option" }, box, make("span", {}, box.value)));
  const set = make("fieldset", { class: "many" }, make("legend", {}, "Members"), ...options);
  return { set, chosen: () => boxes.filter((box) => box.checked).map((box) => box.value) };
}

export function makeGroup(names, after) {
  const group = text("home", "", true);
  const { set, chosen } = choose(names, []);
  const hint = "letters, digits, \u201c-\u201d, \u201c_\u201d and \u201c.\u201d; of a group that is there the chosen clients become members";
  dialog("Make a group", [make("p", {}, "Members reach each other, and no other client."), field("Name", group, hint), set], "Make", () =>
    grant({ "group-add": { group: group.value.trim(), clients: chosen() } }, "The group is made", after));
}

// The members of a group. Only what is another than before is asked for.
export function changeGroup(group, members, names, after) {
  const { set, chosen } = choose([...new Set([...names, ...members])].sort(), members);
  let before = members;
  dialog(`Group ${group}`, [set], "Save", async () => {
    const wanted = chosen();
    const [come, go] = [wanted.filter((n) => !before.includes(n)), before.filter((n) => !wanted.includes(n))];
    if (!wanted.length) throw new Error("A group has one member at least: \u201cRemove\u201d beside it ends the group.");
    const told = [];
    if (come.length) told.push((await act({ do: "grant", change: { "group-add": { group, clients: come } } })).said);
    before = [...before, ...come];
    if (go.length) told.push((await act({ do: "grant", change: { "group-remove": { group, clients: go } } })).said);
    before = wanted;
    return () => {
      say(told.join("; ") || "Nothing was changed.");
      after();
    };
  });
}

// An interface of the gateway by which a client, or a group, leaves.
export function giveExit(names, groups, after) {
  const part = (label, kind, all) => (all.length ? make("optgroup", { label }, ...all.map((n) => make("option", { value: `${kind} ${n}` }, n))) : null);
  const whose = make("select", {}, part("Clients", "client", names), part("Groups", "group", groups));
  const by = text("wan2", "", true);
  const global6 = make("input", { type: "checkbox" });
  const untranslated = "Leave the global IPv6 addresses as they are: only where that network is routed to the gateway by this interface";
  const content = [
    field("Who leaves by it", whose, "a client\u2019s own exit goes before its group\u2019s"),
    field("Interface of the gateway", by, "what leaves by another interface now ends"),
    make("label", { class: "option" }, global6, make("span", {}, untranslated)),
  ];
  dialog("Give an exit", content, "Give", () => {
    const [kind, name] = whose.value.split(" ");
    const exit = { interface: by.value.trim(), global6: global6.checked };
    return grant({ "exit-set": { whose: { [kind]: name }, exit } }, "The exit is given", after);
  });
}

// Takes something away that was granted.
export function withdraw(title, words, what, after) {
  dialog(title, [make("p", {}, words)], "Remove", () => grant(what, "It is removed", after));
}

const INVITED = {
  ap: ["Invite a repeater", "ropewalk repeater - --config FILE"],
  gateway: ["Invite a client", "ropewalk up - --state DIR"],
  "bunch gateway": ["Invite an access point", "ropewalk bunch ap - --state DIR"],
};

export function invite(role, after) {
  const name = make("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false", placeholder: "alice" });
  const endpoints = make("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "gw.example.org:4500" });
  const content = [field("Name", name), field("Where it reaches this gateway", endpoints, "HOST:PORT, more with spaces between; left empty: where the gateway listens")];
  dialog(INVITED[role][0], content, "Invite", async () => {
    const list = endpoints.value.trim().split(/\s+/).filter(Boolean);
    const outcome = await act({ do: "invite", name: name.value.trim(), endpoints: list });
    return () => {
      showToken(name.value.trim(), outcome, role);
      after();
    };
  });
}

const SVG = "http://www.w3.org/2000/svg";

function picture(qr) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `-4 -4 ${qr.size + 8} ${qr.size + 8}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "The token as a QR code");
  svg.setAttribute("class", "qr");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", qr.d);
  svg.append(path);
  return svg;
}

function showToken(name, outcome, role) {
  const text = make("textarea", { readonly: true, rows: 4, spellcheck: "false" });
  text.value = outcome.token;
  const copy = make("button", { type: "button", onClick: async () => {
    text.select();
    await navigator.clipboard.writeText(outcome.token);
    say("copied");
  } }, "Copy");
  const words = make("p", {}, `Give it to ${name} alone, which pastes it to `, make("code", {}, INVITED[role][1]), ". It is shown once: nobody can read it here again.");
  dialog(`The token for ${name}`, [words, field("Token", text), outcome.qr && picture(outcome.qr)].filter(Boolean), null, null, copy);
}

export function revoke(name, after) {
  const words = `${name} is let in no more, and its session ends now. Only a new invite lets it in again.`;
  dialog(`Revoke ${name}?`, [make("p", {}, words)], "Revoke", async () => {
    const told = await change({ do: "revoke", name }, `${name} is revoked`);
    return () => {
      told();
      after();
    };
  });
}
