"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("report");
  const ROW = 26;
  const MOST_PRINTED = 400;

  const make = (tag, kind, text) => {
    const node = document.createElement(tag);
    if (kind) node.className = kind;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const svg = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const section = (title) => {
    const node = make("section");
    node.append(make("h2", "", title));
    root.append(node);
    return node;
  };
  const barOf = (parts) => {
    const bar = make("div", "bar");
    for (let i = 0; i < parts.length; i += 2) {
      const piece = make("i");
      piece.style.background = `var(--c${parts[i]})`;
      piece.style.flex = `${parts[i + 1]} 0 0`;
      bar.append(piece);
    }
    return bar;
  };

  // A table of any length, of which only the lines in view exist.
  class Lines {
    constructor(place, table, id) {
      this.table = table;
      this.columns = table.columns;
      this.order = [...Array(table.rows).keys()];
      this.closed = new Set();
      this.words = "";
      this.sorted = null;
      this.active = 0;
      this.id = id;
      this.pool = [];
      this.printing = false;
      this.waiting = false;
      const narrow = matchMedia("(max-width: 720px)").matches;
      const NARROW_NAME = 160;
      const template = this.columns.map((column, i) => (narrow && i === 0 ? `${NARROW_NAME}px` : column.width)).join(" ");
      this.template = template;
      this.wide = make("div", "wide");
      this.grid = make("div", "grid");
      this.grid.style.minWidth = `${table.width - (narrow ? table.name_px - NARROW_NAME : 0)}px`;
      this.top = make("div", "top");
      this.top.style.gridTemplateColumns = template;
      this.columns.forEach((column, i) => {
        const cell = make("div", column.kind === "number" ? "number" : "");
        if (table.depth) {
          cell.textContent = column.title;
        } else {
          const button = make("button", "", column.title);
          button.type = "button";
          button.title = "Sort";
          button.addEventListener("click", () => this.sort(i));
          cell.append(button);
        }
        this.top.append(cell);
      });
      this.box = make("div", "lines");
      this.box.tabIndex = 0;
      this.box.setAttribute("role", table.depth ? "treegrid" : "grid");
      this.box.setAttribute("aria-label", table.title);
      this.space = make("div", "space");
      this.box.append(this.space);
      this.grid.append(this.top, this.box);
      this.wide.append(this.grid);
      this.hint = make("p", "hint", "There are more columns: scroll the table to the side.");
      place.append(this.hint, this.wide);
      new ResizeObserver(() => {
        this.hint.hidden = this.wide.scrollWidth <= this.wide.clientWidth + 1;
      }).observe(this.wide);
      this.box.addEventListener("scroll", () => this.later(), { passive: true });
      this.box.addEventListener("keydown", (event) => this.key(event));
      this.box.addEventListener("click", (event) => this.click(event));
      new ResizeObserver(() => this.later()).observe(this.box);
      if (table.depth) this.closeBelow(table.open_depth);
      this.choose();
    }

    text(column, row) {
      return column.words[column.at[row]];
    }

    closeBelow(depth) {
      this.closed.clear();
      const depths = this.table.depth;
      for (let i = 0; i + 1 < depths.length; ++i) if (depths[i] >= depth && depths[i + 1] > depths[i]) this.closed.add(i);
    }

    // Which rows are there, in their order.
    choose() {
      const { rows, depth } = this.table;
      const shown = [];
      const found = this.words ? this.find() : null;
      if (depth) {
        let hiddenBelow = Infinity;
        for (let i = 0; i < rows; ++i) {
          if (depth[i] > hiddenBelow) continue;
          hiddenBelow = Infinity;
          if (found && !found[i]) continue;
          shown.push(i);
          if (!found && this.closed.has(i)) hiddenBelow = depth[i];
        }
      } else {
        for (const i of this.order) if (!found || found[i]) shown.push(i);
      }
      this.shown = shown;
      this.active = Math.max(0, Math.min(this.active, shown.length - 1));
      this.space.style.height = `${shown.length * ROW}px`;
      this.box.style.height = `${Math.max(1, shown.length) * ROW}px`;
      this.box.setAttribute("aria-rowcount", shown.length);
      this.grid.dispatchEvent(new CustomEvent("chosen", { detail: shown.length }));
      this.later();
    }

    find() {
      if (!this.haystack) {
        const columns = this.columns.filter((column) => column.searched);
        this.haystack = Array.from({ length: this.table.rows }, (_, row) =>
          columns.map((column) => this.text(column, row)).join("\n").toLowerCase());
      }
      const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
      const found = this.haystack.map((text) => words.every((word) => text.includes(word)));
      const depth = this.table.depth;
      if (!depth) return found;
      // What is above a row that was found is shown, too; and what is below.
      const kept = found.slice();
      const above = [];
      for (let i = 0; i < found.length; ++i) {
        above.length = depth[i];
        if (found[i]) for (const each of above) kept[each] = true;
        else if (above.some((each) => found[each])) kept[i] = true;
        above.push(i);
      }
      return kept;
    }

    sort(i) {
      const column = this.columns[i];
      const numbers = column.kind === "number";
      const down = this.sorted && this.sorted.i === i ? !this.sorted.down : numbers;
      this.sorted = { i, down };
      const keys = column.sort || column.at.map((at) => column.words[at].toLowerCase());
      const sign = down ? -1 : 1;
      this.order.sort((a, b) => {
        const x = keys[a], y = keys[b];
        if (x === y) return a - b;
        if (x === null) return 1;
        if (y === null) return -1;
        return (x < y ? -1 : 1) * sign;
      });
      [...this.top.children].forEach((cell, at) => {
        if (at === i) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      });
      this.choose();
    }

    later() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.draw();
      });
    }

    draw() {
      let first = 0;
      let count = Math.min(this.shown.length, MOST_PRINTED);
      if (!this.printing) {
        first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 6);
        count = Math.min(this.shown.length - first, Math.ceil(this.box.clientHeight / ROW) + 12);
      }
      while (this.pool.length < count) {
        const row = this.makeRow();
        this.pool.push(row);
        this.space.append(row.node);
      }
      while (this.pool.length > Math.max(count, 0)) this.pool.pop().node.remove();
      this.pool.forEach((row, i) => this.fill(row, first + i));
    }

    makeRow() {
      const node = make("div", "row");
      node.setAttribute("role", "row");
      node.style.gridTemplateColumns = this.template;
      const cells = this.columns.map((column) => {
        const cell = make("div", column.kind);
        cell.setAttribute("role", "gridcell");
        node.append(cell);
        return cell;
      });
      return { node, cells, at: -1 };
    }

    fill(line, at) {
      const row = this.shown[at];
      const { node, cells } = line;
      node.style.transform = this.printing ? "" : `translateY(${at * ROW}px)`;
      node.id = `${this.id}-${at}`;
      node.dataset.at = at;
      node.setAttribute("aria-rowindex", at + 1);
      node.classList.toggle("active", at === this.active);
      if (at === this.active) this.box.setAttribute("aria-activedescendant", node.id);
      const closedNow = this.closed.has(row);
      if (line.at === row && line.closed === closedNow) return;
      line.at = row;
      line.closed = closedNow;
      const failed = Boolean(this.table.failed[row]);
      this.columns.forEach((column, i) => {
        const cell = cells[i];
        const text = this.text(column, row);
        if (column.kind === "where") {
          cell.replaceChildren(...(text ? [barOf(column.parts[row]), make("span", "", text)] : []));
        } else if (column.kind === "name" && this.table.depth) {
          this.fillName(cell, row, text, node);
        } else {
          cell.textContent = text;
        }
        if (column.kind !== "where") cell.title = text;
        if (column.kind === "name" || column.marks) cell.classList.toggle("failed", failed);
      });
    }

    fillName(cell, row, text, node) {
      const { depth, level } = this.table;
      const inner = row + 1 < depth.length && depth[row + 1] > depth[row];
      const twist = make("span", "twist", inner ? (this.closed.has(row) && !this.words ? "▸" : "▾") : "");
      twist.style.marginLeft = `${depth[row] * 16}px`;
      cell.replaceChildren(twist, make("span", "level", level[row]), document.createTextNode(text));
      node.setAttribute("aria-level", depth[row] + 1);
      if (inner) node.setAttribute("aria-expanded", String(!this.closed.has(row)));
      else node.removeAttribute("aria-expanded");
    }

    toggle(at, open) {
      const row = this.shown[at];
      const depth = this.table.depth;
      if (!depth || row === undefined || !(depth[row + 1] > depth[row])) return false;
      const closed = this.closed.has(row);
      if (open !== undefined && open === !closed) return false;
      if (closed) this.closed.delete(row);
      else this.closed.add(row);
      this.choose();
      return true;
    }

    move(at) {
      this.active = Math.max(0, Math.min(at, this.shown.length - 1));
      const top = this.active * ROW;
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (top + ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW - this.box.clientHeight;
      this.later();
    }

    key(event) {
      const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
      if (event.key in moves) this.move(this.active + moves[event.key]);
      else if (event.key === "ArrowRight") this.toggle(this.active, true) || this.move(this.active + 1);
      else if (event.key === "ArrowLeft") this.toggle(this.active, false) || this.up();
      else if (event.key === "Enter" || event.key === " ") this.toggle(this.active);
      else return;
      event.preventDefault();
    }

    up() {
      const depth = this.table.depth;
      if (!depth) return;
      let at = this.active;
      while (at > 0 && depth[this.shown[at]] >= depth[this.shown[this.active]]) --at;
      this.move(at);
    }

    click(event) {
      const node = event.target.closest(".row");
      if (!node) return;
      this.active = Number(node.dataset.at);
      if (!this.toggle(this.active)) this.later();
    }

    search(words) {
      this.words = words.trim();
      this.box.scrollTop = 0;
      for (const line of this.pool) line.at = -1;
      this.choose();
    }

    print(printing) {
      this.printing = printing;
      this.draw();
    }
  }

  const head = () => {
    const line = make("div", "head");
    line.append(make("h1", "", data.title));
    const theme = make("button", "theme", "light / dark");
    theme.type = "button";
    theme.addEventListener("click", () => {
      const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
      document.documentElement.dataset.theme = dark ? "light" : "dark";
    });
    line.append(theme);
    root.append(line, make("p", "facts", data.facts.join("  ·  ")));
    if (data.result) root.append(make("p", "result", data.result));
    const verdict = make("div", `verdict ${data.verdict.good ? "good" : "bad"}`);
    verdict.append(make("strong", "", data.verdict.word), document.createTextNode(data.verdict.text));
    root.append(verdict);
    const tiles = make("div", "tiles");
    const minor = make("div", "minor");
    data.tiles.forEach(([label, value], i) => {
      const tile = make("div", i < 3 ? "tile" : "");
      if (label === "failed" && !/^0$/.test(value)) tile.classList.add("failed");
      tile.append(make("b", "", value), make("span", "", label));
      (i < 3 ? tiles : minor).append(tile);
    });
    root.append(tiles, minor);
  };

  const SHOWN_FINDINGS = 5;
  const findingItem = (finding) => {
    const item = make("li", ["error", "warning"].includes(finding.severity) ? finding.severity : "note");
    const words = make("p");
    words.append(make("strong", "", finding.severity), document.createTextNode(` ${finding.text}`));
    item.append(words);
    if (finding.evidence) item.append(make("p", "besides", finding.evidence));
    if (finding.advice) item.append(make("p", "besides", `Try: ${finding.advice}`));
    return item;
  };
  const findings = () => {
    const { title, list, note } = data.findings;
    if (!list.length) return;
    const place = section(`Findings: ${title}`);
    place.id = "findings";
    const listOf = (entries) => {
      const node = make("ul", "findings");
      node.append(...entries.map(findingItem));
      return node;
    };
    place.append(listOf(list.slice(0, SHOWN_FINDINGS)));
    const rest = list.slice(SHOWN_FINDINGS);
    if (!rest.length) return;
    const more = make("details");
    more.append(make("summary", "", `${rest.length} more`), listOf(rest));
    if (note) more.append(make("p", "facts", note));
    place.append(more);
  };

  const where = () => {
    if (!data.time.length) return;
    const place = section("Where the time of all processes went, but for waiting for children");
    const whole = make("div", "whole");
    whole.append(barOf(data.time.flatMap(([cause, parts]) => [cause, parts])));
    whole.firstChild.setAttribute("role", "img");
    whole.firstChild.setAttribute("aria-label", data.time.map(([, , text]) => text).join(", "));
    const legend = make("ul", "legend");
    for (const [cause, parts, text] of data.time) {
      if (parts < 5) continue;
      const item = make("li");
      const color = make("i");
      color.style.background = `var(--c${cause})`;
      item.append(color, document.createTextNode(text));
      legend.append(item);
    }
    place.append(whole, legend);
  };

  const tables = () => {
    const place = section("What ran");
    const bar = make("div", "tools");
    bar.setAttribute("role", "tablist");
    const search = make("input");
    search.type = "search";
    search.placeholder = "Search names and commands";
    search.setAttribute("aria-label", "Search names and commands");
    const open = make("button", "", "Expand all");
    const close = make("button", "", "Collapse all");
    const count = make("output");
    open.type = close.type = "button";
    const note = make("p", "facts");
    const holder = make("div");
    const made = new Map();
    let current = null;
    const say = () => {
      const table = current.table;
      count.textContent = `${current.shown.length} of ${table.rows} lines`;
      note.textContent = table.note;
    };
    const show = (name) => {
      for (const button of bar.querySelectorAll("[role=tab]"))
        button.setAttribute("aria-selected", String(button.dataset.name === name));
      if (!made.has(name)) {
        const frame = make("div");
        holder.append(frame);
        const lines = new Lines(frame, data.tables.find((table) => table.name === name), `t-${name}`);
        lines.grid.addEventListener("chosen", say);
        made.set(name, { frame, lines });
      }
      for (const [key, each] of made) each.frame.hidden = key !== name;
      current = made.get(name).lines;
      open.hidden = close.hidden = !current.table.depth;
      if (current.words !== search.value.trim()) current.search(search.value);
      current.later();
      say();
    };
    for (const table of data.tables) {
      const button = make("button", "", table.title);
      button.type = "button";
      button.setAttribute("role", "tab");
      button.dataset.name = table.name;
      button.addEventListener("click", () => show(table.name));
      bar.append(button);
    }
    let timer = 0;
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => current.search(search.value), 80);
    });
    open.addEventListener("click", () => { current.closed.clear(); current.choose(); });
    close.addEventListener("click", () => { current.closeBelow(0); current.choose(); });
    bar.append(search, open, close, count);
    place.append(bar, holder, note);
    if (data.tables.length) show(data.tables[0].name);
    addEventListener("beforeprint", () => current && current.print(true));
    addEventListener("afterprint", () => current && current.print(false));
  };

  const area = (values, most) => {
    // Steps from the ground; parts without anything are left out.
    let path = "";
    for (let i = 0; i < values.length; ++i) {
      if (!values[i]) continue;
      let end = i;
      path += `M${i} 100`;
      while (end < values.length && values[end]) {
        path += `V${(100 - 100 * Math.min(1, values[end] / most)).toFixed(1)}H${end + 1}`;
        ++end;
      }
      path += "V100Z";
      i = end;
    }
    return path;
  };

  const timeline = () => {
    const kinds = ["tools", "tasks"].filter((kind) => data.timeline[kind].length);
    if (!kinds.length || data.timeline.parts < 1) return;
    const place = section("Over time");
    const bar = make("div", "tools");
    const grid = make("div", "time");
    const { parts, ticks } = data.timeline;
    const picture = (title, layers) => {
      const node = svg("svg", { viewBox: `0 0 ${parts} 100`, preserveAspectRatio: "none", role: "img" });
      const words = svg("title", {});
      words.textContent = title;
      node.append(words);
      for (const [kind, values, most] of layers) node.append(svg("path", { class: kind, d: area(values, most) }));
      return node;
    };
    const axis = (name) => {
      const node = make("div", `axis ${name}`);
      for (const [share, text] of ticks) {
        const tick = make("span", "", text);
        tick.style.left = `${share * 100}%`;
        node.append(tick);
      }
      return node;
    };
    const show = (kind) => {
      for (const button of bar.children) button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
      const nodes = [make("div", "axis head"), make("div", "axis head", "CPU"), make("div", "axis head"),
        make("div", "axis head", "memory"), make("div", "axis head")];
      for (const row of data.timeline[kind]) {
        const label = make("div", "label", row.name);
        label.title = row.name;
        nodes.push(label, picture(`${row.name}: CPU, ${row.cpu_text}`, [["lived", row.lived, 1], ["cpu", row.cpu, 1000]]),
          make("div", "most", row.cpu_text),
          picture(`${row.name}: memory, ${row.memory_text}`, [["memory", row.memory, 1000]]),
          make("div", "most", row.memory_text));
      }
      nodes.push(make("div", "axis blank"), axis("cpu-axis"), make("div", "axis blank"), axis("memory-axis"),
        make("div", "axis blank"));
      grid.replaceChildren(...nodes);
    };
    for (const kind of kinds) {
      const button = make("button", "", kind);
      button.type = "button";
      button.dataset.kind = kind;
      button.addEventListener("click", () => show(kind));
      bar.append(button);
    }
    if (kinds.length > 1) place.append(bar);
    place.append(grid, make("p", "facts", data.timeline.note));
    show(kinds[0]);
  };

  const plainTable = (place, heads, rows, mono) => {
    const table = make("table");
    const top = make("tr");
    for (const head of heads) {
      const cell = make("th", "", head);
      cell.scope = "col";
      top.append(cell);
    }
    const first = make("thead");
    first.append(top);
    const body = make("tbody");
    for (const row of rows) {
      const line = make("tr");
      row.forEach((text, i) => line.append(make("td", i === mono ? "mono" : "", text)));
      body.append(line);
    }
    table.append(first, body);
    place.append(table);
  };

  const rest = () => {
    for (const part of data.parts) {
      const place = section(part.title);
      place.id = part.name;
      if (part.heads) plainTable(place, part.heads, part.rows, part.mono);
      if (part.text) place.append(make("pre", "", part.text));
    }
    const place = section("Certificate");
    place.id = "certificate";
    place.append(make("pre", "", data.certificate.text));
    const columns = make("div", "columns");
    for (const [title, lines] of data.certificate.lists) {
      if (!lines.length) continue;
      const column = make("div");
      column.append(make("h3", "", title));
      const list = make("ul", "plain");
      for (const line of lines) list.append(make("li", "", line));
      column.append(list);
      columns.append(column);
    }
    place.append(columns);
  };

  root.replaceChildren();
  head();
  findings();
  where();
  tables();
  timeline();
  rest();
  document.documentElement.dataset.ready = "yes";
})();
