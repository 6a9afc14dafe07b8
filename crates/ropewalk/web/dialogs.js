// What can be changed, each in a dialog of its own.

import { act } from "./api.js";
import { make, say } from "./dom.js";

let number = 0;

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
    for (const b of form.querySelectorAll("button")) b.disabled = true;
    try {
      const after = await what();
      box.close();
      after?.();
    } catch (error) {
      wrong.textContent = error.message;
    }
    for (const b of form.querySelectorAll("button")) b.disabled = false;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (work) attempt(work);
  });
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  return { box, attempt };
}

async function change(action, done) {
  const outcome = await act(action);
  return () => say(outcome.said || done);
}

// As people write it: 10GB.
function amount(n) {
  const [scale, unit] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]].find(([s]) => n % s === 0);
  return `${n / scale}${unit}`;
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

export function invite(role, after) {
  const name = make("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false", placeholder: "alice" });
  const endpoints = make("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "gw.example.org:4500" });
  const content = [field("Name", name), field("Where it reaches this gateway", endpoints, "HOST:PORT, more with spaces between; left empty: where the gateway listens")];
  dialog(role === "ap" ? "Invite a repeater" : "Invite a client", content, "Invite", async () => {
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
  const how = role === "ap" ? "ropewalk repeater - --config FILE" : "ropewalk up - --state DIR";
  const words = make("p", {}, `Give it to ${name} alone, which pastes it to `, make("code", {}, how), ". It is shown once: nobody can read it here again.");
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
