// Draws the specifications of pictures (hentropy.plots.with_plotly) into elements of a page, by plotly.js.
//
//   hentropy.draw(element, specification, { label })   draws, or redraws what is there
//   hentropy.drawAll(root)                             draws every [data-picture] within: its JSON is in the
//                                                      <script type="application/json"> whose id data-picture names
//
// Colours come from the page's custom properties, so that pictures follow light and dark. Narrow elements get the
// layout with fewer columns. Tables are made of text alone. No markup of a specification ever becomes HTML.
(() => {
  "use strict";

  const NARROWEST_COLUMN = 300;
  const WIDEST_PANEL = 720;
  const PRINTED = 680; // pixels: the width of a sheet
  const FALLBACK = { "--ink": "#1b2025", "--muted": "#57616b", "--line": "#dedbd4", "--surface": "#ffffff" };
  // colours of marks that are too dark on a dark page, and what stands for them there
  const ON_DARK = { "#0072b2": "#8ccfff", "#767676": "#b0b0b0" };
  const drawn = new Map();
  let printing = false;

  function colour(element, name) {
    if (printing) return FALLBACK[name];
    return getComputedStyle(element).getPropertyValue(name).trim() || FALLBACK[name];
  }

  // the layout with the most columns that have room
  function fitting(layout, width) {
    const all = [layout, ...(layout.meta.narrower || [])];
    return all.find((each) => width >= each.meta.columns * NARROWEST_COLUMN) || all[all.length - 1];
  }

  // the legend has as many lines as it needs at this width: the height follows
  function withRoomForLegend(layout, width) {
    const { widths, lines, line } = layout.meta.legend;
    const room = width - layout.margin.l - layout.margin.r;
    let needed = 0;
    let used = Infinity;
    for (const each of widths) {
      if (used + each > room) {
        needed += 1;
        used = 0;
      }
      used += each;
    }
    const more = (needed - lines) * line;
    return { ...layout, height: layout.height + more, margin: { ...layout.margin, b: layout.margin.b + more } };
  }

  const nth = (name, position) => (position === 1 ? name : `${name}${position}`);

  // axes and scales take the pixels that they need, panels share the rest
  function spreadAcross(layout, width) {
    const { rows, gaps, bar } = layout.meta.across;
    const room = width - layout.margin.l - layout.margin.r;
    rows.forEach((row, line) => {
      const free = gaps[line].reduce((sum, gap) => sum + gap, 0);
      const scales = row.map((position) => layout[nth("coloraxis", position)]);
      const even = (room - free - bar * scales.filter(Boolean).length) / row.length;
      const each = Math.min(even, WIDEST_PANEL);
      let left = 0;
      row.forEach((position, column) => {
        left += gaps[line][column];
        const right = left + each;
        layout[nth("xaxis", position)].domain = [left / room, right / room];
        layout.annotations.find(({ name }) => name === `title${position}`).x = left / room;
        if (scales[column]) scales[column].colorbar.x = right / room;
        left = right + (scales[column] ? bar : 0);
      });
    });
    return layout;
  }

  function themed(element, layout) {
    const ink = colour(element, "--ink");
    const muted = colour(element, "--muted");
    const line = colour(element, "--line");
    const surface = colour(element, "--surface");
    const made = { ...layout };
    delete made.meta;
    const coarse = matchMedia("(pointer: coarse)").matches;
    made.font = { ...made.font, color: ink, family: getComputedStyle(element).fontFamily };
    made.hoverlabel = { bgcolor: surface, bordercolor: line, font: { color: ink }, align: "left", namelength: 40 };
    made.modebar = { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: ink };
    made.dragmode = coarse ? false : "zoom"; // a finger scrolls the page
    made.autosize = true;
    for (const [name, axis] of Object.entries(made)) {
      if (/^[xy]axis\d*$/.test(name)) {
        Object.assign(axis, { gridcolor: line, linecolor: muted, tickcolor: muted, fixedrange: coarse });
        axis.tickfont = { ...axis.tickfont, color: muted };
      } else if (/^coloraxis\d*$/.test(name)) {
        Object.assign(axis.colorbar, { tickcolor: muted });
      }
    }
    return made;
  }

  function isDark(element) {
    if (printing) return false;
    const scheme = getComputedStyle(element).colorScheme;
    return scheme.includes("dark") && !scheme.includes("light");
  }

  function lightened(value) {
    const change = (text) => Object.entries(ON_DARK).reduce((all, [dark, light]) => all.replaceAll(dark, light), text);
    return JSON.parse(change(JSON.stringify(value)));
  }

  const CONFIG = {
    displaylogo: false,
    responsive: false,
    displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false,
    modeBarButtons: [["toImage"]],
    toImageButtonOptions: { format: "png", scale: 2, filename: "picture" },
  };

  function cell(kind, text) {
    const made = document.createElement(kind);
    made.textContent = text;
    if (text !== "" && Number.isFinite(Number(text.split("±")[0]))) made.className = "number";
    return made;
  }

  function tableOf(table) {
    const wrap = document.createElement("div");
    wrap.className = "scroll";
    wrap.tabIndex = 0; // can be scrolled by keyboard
    wrap.setAttribute("role", "group");
    wrap.setAttribute("aria-label", table.title);
    const made = wrap.appendChild(document.createElement("table"));
    made.createCaption().textContent = table.title;
    const head = made.createTHead().insertRow();
    table.columns.forEach((name, column) => {
      const title = cell("th", name);
      title.scope = "col";
      const cells = table.rows.map((row) => row[column]);
      const numeric = cells.length > 0 && cells.every((text) => cell("td", text).className === "number");
      title.className = numeric ? "number" : "";
      head.append(title);
    });
    const body = made.createTBody();
    for (const row of table.rows) body.insertRow().append(...row.map((text) => cell("td", text)));
    return wrap;
  }

  function parts(element) {
    let plot = element.querySelector(":scope > .picture-plot");
    if (!plot) {
      plot = document.createElement("div");
      plot.className = "picture-plot";
      const tables = document.createElement("div");
      tables.className = "picture-tables";
      element.replaceChildren(plot, tables);
    }
    return { plot, tables: element.querySelector(":scope > .picture-tables") };
  }

  function render(element) {
    const { specification, label } = drawn.get(element);
    const { plot, tables } = parts(element);
    const { meta } = specification.layout;
    tables.replaceChildren(...(meta.tables || []).map(tableOf));
    plot.hidden = specification.data.length === 0 && !(specification.layout.shapes || []).length;
    if (plot.hidden) return Promise.resolve();
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", label);
    plot.style.maxWidth = `${meta.widest}px`;
    const width = Math.min(printing ? PRINTED : element.clientWidth, meta.widest);
    if (width === 0) return Promise.resolve(); // hidden now; drawn when it is seen
    const fit = isDark(element) ? lightened : structuredClone;
    const copy = fit(fitting(specification.layout, width));
    const fitted = withRoomForLegend(spreadAcross(copy, width), width);
    const layout = { ...themed(element, fitted), width };
    return Plotly.react(plot, fit(specification.data), layout, CONFIG);
  }

  const sizes = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const known = drawn.get(target);
      if (known && !printing && Math.abs(known.width - contentRect.width) >= 1) {
        known.width = contentRect.width;
        requestAnimationFrame(() => drawn.has(target) && render(target));
      }
    }
  });

  function draw(element, specification, { label = "" } = {}) {
    const said = label || element.getAttribute("aria-label") || drawn.get(element)?.label || "picture";
    // the plot within is the image: tables beside it are to be read
    element.removeAttribute("role");
    element.removeAttribute("aria-label");
    drawn.set(element, { specification, label: said, width: element.clientWidth });
    sizes.observe(element);
    return render(element);
  }

  function forget(element) {
    sizes.unobserve(element);
    drawn.delete(element);
    const plot = element.querySelector(":scope > .picture-plot");
    if (plot) Plotly.purge(plot);
    element.replaceChildren();
  }

  function drawAll(root = document) {
    const elements = [...root.querySelectorAll("[data-picture]")];
    return Promise.all(
      elements.map((element) => {
        const source = document.getElementById(element.dataset.picture);
        return draw(element, JSON.parse(source.textContent), { label: element.dataset.label || "" });
      }),
    );
  }

  function redraw() {
    for (const element of drawn.keys()) {
      if (element.isConnected) render(element);
      else forget(element);
    }
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  for (const [event, now] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      printing = now;
      redraw();
    });
  }

  window.hentropy = Object.assign(window.hentropy || {}, { draw, drawAll, forget });
})();
