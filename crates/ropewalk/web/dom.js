// Elements, and tables that are changed in place, so that neither focus nor selection is lost each second.

export const $ = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onClick") element.addEventListener("click", value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((c) => c != null));
  return element;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, yes) {
  element.hidden = !yes;
}

// A short word for everybody, also for those who do not see it.
let saidTimer;
export function say(text) {
  setText($("said"), text);
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => setText($("said"), ""), 6000);
}

// Notes where the focus is. What it gives brings it back there if it was lost meanwhile: to the control, to the
// one of its name that was made in its place, or else to what is left around it.
export function keepFocus() {
  const was = document.activeElement;
  const name = was.getAttribute("aria-label");
  const around = [];
  for (let e = was; (e = e.parentElement?.closest("[aria-label], [aria-labelledby], main")); ) around.push(e);
  return () => {
    if (document.activeElement !== document.body) return;
    const twin = name && around.find((e) => e.isConnected)?.querySelector(`[aria-label="${CSS.escape(name)}"]`);
    for (const element of [was, twin, ...around]) {
      if (!element?.isConnected) continue;
      // Sections and tables take the focus only by this.
      if (element.tabIndex < 0) element.tabIndex = -1;
      // What is hidden or disabled does not take it.
      element.focus({ preventScroll: true });
      if (document.activeElement === element) return;
    }
  };
}

// A table. Columns: { title, text(row), tone(row)?, mark(row)?, numeric? } or { label, action(row, now) }. Rows have a key.
// Roles are said, since a narrow screen shows rows as blocks, and browsers then forget that it is a table.
export class Table {
  constructor(place, label, columns) {
    this.columns = columns;
    const cell = (c) => make("th", { scope: "col", role: "columnheader", class: c.numeric ? "n" : null }, c.title ?? make("span", { class: "unseen" }, c.label));
    const head = make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...columns.map(cell)));
    this.body = make("tbody", { role: "rowgroup" });
    this.rows = new Map();
    place.replaceChildren(make("table", { role: "table", "aria-label": label }, head, this.body));
  }

  update(rows) {
    const seen = new Set();
    rows.forEach((row, index) => {
      seen.add(row.key);
      let line = this.rows.get(row.key);
      if (!line) {
        line = this.line(row);
        this.rows.set(row.key, line);
      }
      line.row = row;
      this.fill(line);
      if (this.body.children[index] !== line.element) this.body.insertBefore(line.element, this.body.children[index] ?? null);
    });
    for (const [key, line] of this.rows) {
      if (seen.has(key)) continue;
      line.element.remove();
      this.rows.delete(key);
    }
  }

  line(row) {
    const line = { row, element: make("tr", { role: "row", "data-key": row.key }), cells: [] };
    this.columns.forEach((column, i) => {
      const first = i === 0;
      const cell = make(first ? "th" : "td", {
        role: first ? "rowheader" : "cell",
        scope: first ? "row" : null,
        class: [column.numeric ? "n" : "", column.action ? "act" : ""].join(" ").trim() || null,
        "data-title": column.title,
      });
      const value = make("span", { class: "value" });
      cell.append(value);
      if (column.action) {
        value.append(...column.action(row, () => line.row));
      }
      line.cells.push(value);
      line.element.append(cell);
    });
    return line;
  }

  fill(line) {
    this.columns.forEach((column, i) => {
      const value = line.cells[i];
      if (column.action) return;
      setText(value, column.text(line.row));
      const tone = column.tone?.(line.row) ?? "";
      if ((value.dataset.tone ?? "") !== tone) value.dataset.tone = tone;
      const mark = column.mark?.(line.row);
      if (mark != null && value.dataset.mark !== String(mark)) value.dataset.mark = mark;
    });
    const tone = this.columns.find((c) => c.tone)?.tone(line.row) ?? "";
    if ((line.element.dataset.tone ?? "") !== tone) line.element.dataset.tone = tone;
  }
}
