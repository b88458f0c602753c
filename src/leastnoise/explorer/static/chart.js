// Charts as plain SVG: lines with direct labels, bars, a readout under the pointer, and the numbers as a table behind each.

import { element, power, short, svg } from "./format.js";

const HEIGHT = 300;
const LETTER = 7; // pixels of a letter of a label, at most
const GAP = 16; // pixels between two labels
const ALIKE = 1.2; // pixels: lines closer than this everywhere are one line
const ROOM = 28; // pixels between a label and the lines of others that are enough
const MOST_DIRECT = 4; // lines that have their names beside them; more have them in a column

/** Round steps for an axis from `low` to `high`. */
function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((candidate) => candidate >= rough * 0.8);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(Math.abs(value) < step / 1e6 ? 0 : value);
  return found;
}

function logTicks(low, high, wanted) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first < 2) {
    const fine = [];
    for (let exponent = first - 1; exponent <= last; exponent += 1) for (const factor of [1, 2, 5]) fine.push(factor * 10 ** exponent);
    return fine.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }
  const every = Math.max(1, Math.ceil((last - first + 1) / wanted));
  const found = [];
  for (let exponent = last; exponent >= first; exponent -= every) found.unshift(10 ** exponent);
  return found;
}

function scale(kind, low, high, from, to) {
  const map = kind === "log" ? Math.log : (value) => value;
  const a = map(low);
  const b = map(high);
  const place = (value) => from + ((map(value) - a) / (b - a)) * (to - from);
  place.ticks = (wanted) => (kind === "log" ? logTicks(low, high, wanted) : ticks(low, high, wanted));
  return place;
}

/** Labels pushed apart so that none covers another, kept inside [low, high]. */
function spread(labels, low, high) {
  labels.sort((one, other) => one.y - other.y);
  labels.forEach((label, index) => {
    label.at = Math.max(label.y, index ? labels[index - 1].at + GAP : low);
  });
  for (let index = labels.length - 1, limit = high; index >= 0; index -= 1) {
    labels[index].at = Math.min(labels[index].at, limit);
    limit = labels[index].at - GAP;
  }
  return labels;
}

function path(points, stepped) {
  let text = "";
  points.forEach(([x, y], index) => {
    if (index === 0) text += `M${x.toFixed(2)} ${y.toFixed(2)}`;
    else if (stepped) {
      const middle = ((points[index - 1][0] + x) / 2).toFixed(2);
      text += `H${middle}V${y.toFixed(2)}H${x.toFixed(2)}`;
    } else text += `L${x.toFixed(2)} ${y.toFixed(2)}`;
  });
  return text;
}

/** The part of a series inside the picture; on a logarithmic axis a line that falls out of it is drawn down to the edge. */
function visible(series, spec) {
  const isLog = spec.y.kind === "log";
  const points = series.x
    .map((x, index) => [x, series.y[index]])
    .filter(([x, y]) => y !== null && inside(x, spec.x) && y <= spec.y.high * (1 + 1e-9) && (isLog || y >= spec.y.low));
  const isSeen = (index) => index >= 0 && index < points.length && points[index][1] >= spec.y.low;
  return points
    .filter((_, index) => isSeen(index) || isSeen(index - 1) || isSeen(index + 1))
    .map(([x, y]) => [x, isLog ? Math.max(y, spec.y.low) : y]);
}

/** The labels below a narrow picture, row by row. */
function rows(series, width) {
  const found = [];
  let at = Infinity;
  for (const one of series) {
    const needed = 34 + LETTER * one.label.length;
    if (at + needed > width) {
      found.push([]);
      at = 0;
    }
    found.at(-1).push({ series: one, at });
    at += needed;
  }
  return found;
}

/** A piece of the line and its name. */
function key(series, x, y) {
  return [
    svg("line", { class: series.class, x1: x, x2: x + 18, y1: y, y2: y, "stroke-width": series.class === "law-ours" ? 3 : 1.8 }),
    svg("text", { class: `label ${series.class}`, x: x + 23, y: y + 4 }, series.label),
  ];
}

/** The height of a drawn line at `x`, in pixels; null beside it. */
function heightAt(points, x) {
  const next = points.findIndex(([a]) => a >= x);
  if (next < 0 || (next === 0 && points[0][0] > x)) return null;
  if (next === 0) return points[0][1];
  const [[a, b], [c, d]] = [points[next - 1], points[next]];
  return c === a ? d : b + ((d - b) * (x - a)) / (c - a);
}

/** Lines that lie on another are drawn once, with both names. */
function distinct(lines) {
  const found = [];
  for (const line of lines) {
    const twin = found.find((other) => isSame(other.points, line.points));
    if (twin) twin.label = `${twin.label} = ${line.label.replace("Discrete ", "")}`;
    else found.push(line);
  }
  return found;
}

function isSame(one, other) {
  const ends = [one[0][0] - other[0][0], one.at(-1)[0] - other.at(-1)[0]];
  if (ends.some((gap) => Math.abs(gap) > ALIKE)) return false;
  const [from, to] = [Math.max(one[0][0], other[0][0]), Math.min(one.at(-1)[0], other.at(-1)[0])];
  for (let k = 0; k <= 60; k += 1) {
    const x = from + ((to - from) * k) / 60;
    const [a, b] = [heightAt(one, x), heightAt(other, x)];
    if (a === null || b === null || Math.abs(a - b) > ALIKE) return false;
  }
  return true;
}

/** How far a box is from a point; 0 inside. */
function away(box, [x, y]) {
  return Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Evenly spaced points of a line, its steep parts included. */
function sampled(points) {
  const found = [];
  points.forEach(([x, y], index) => {
    const [a, b] = points[Math.max(index - 1, 0)];
    const pieces = Math.max(1, Math.ceil(Math.hypot(x - a, y - b) / 6));
    for (let k = 1; k <= pieces; k += 1) found.push([a + ((x - a) * k) / pieces, b + ((y - b) * k) / pieces]);
  });
  return found;
}

/** A name beside each line, where it is nearest to its own line and far from all others; null where there is no room. */
function directLabels(lines, frame, taken) {
  const dense = lines.map(({ points }) => sampled(points));
  const boxes = [...taken];
  const places = lines.map((line, own) => {
    const width = LETTER * line.label.length + 4;
    let best = null;
    const every = Math.max(1, Math.floor(dense[own].length / 60));
    for (let index = 0; index < dense[own].length; index += every) {
      const [x, y] = dense[own][index];
      for (const [right, below] of [[1, 0], [0, 0], [1, 1], [0, 1]]) {
        const left = right ? x + 5 : x - 5 - width;
        const top = below ? y + 5 : y - 19;
        const box = { left, right: left + width, top, bottom: top + 14 };
        if (left < frame.left + 2 || box.right > frame.right - 2 || top < frame.top || box.bottom > frame.bottom - 2) continue;
        if (boxes.some((other) => overlap(box, other))) continue;
        const others = Math.min(ROOM, ...dense.filter((_, k) => k !== own).flat().map((point) => away(box, point)));
        const itself = Math.min(...dense[own].map((point) => away(box, point)));
        if (others < 1 || itself < 1) continue;
        const score = others - 0.3 * itself - 0.004 * Math.abs(x - frame.left);
        if (!best || score > best.score) best = { score, box };
      }
    }
    if (best) boxes.push(best.box);
    return best?.box ?? null;
  });
  return places;
}

/**
 * Lines: spec = {title, summary, x: {label, kind, low, high}, y: {same, text}, series: [{name, label, class, x, y}], rules, dots,
 * stepped, points, labelsOnTop, table}. With `x.digits` the pointer reads the lines at numbers of so many digits, else at the x of
 * the first series; `points` marks the x of each.
 * Null values and values outside the picture are left out.
 */
export function lineChart(place, spec) {
  drawn(place, spec, (width) => {
    const narrow = width < 460;
    const top = 12;
    const bottom = 42;
    const y = scale(spec.y.kind, spec.y.low, spec.y.high, HEIGHT - bottom, top);
    const heights = y.ticks(6).map((value) => [value, spec.y.tick ? spec.y.tick(value) : spec.y.kind === "log" && value < 0.1 ? power(value, 1) : short(value, 2)]);
    const left = 30 + LETTER * Math.max(4, ...heights.map(([, text]) => text.length)); // the axis has its name left of the numbers
    const linesWithin = (until) => {
      const place = scale(spec.x.kind, spec.x.low, spec.x.high, left, until);
      return distinct(
        spec.series.map((series) => ({ series, label: series.label, points: visible(series, spec).map(([a, b]) => [place(a), y(b)]) })).filter(({ points }) => points.length),
      );
    };
    // Few lines have their names beside them; of many they stand in a column at the ends, or where there is no room below.
    const widest = linesWithin(width - 12);
    const isDirect = widest.length <= MOST_DIRECT;
    let [right, drawnLines] = [12, widest];
    for (let pass = 0; pass < 3 && !isDirect && !narrow; pass += 1) { // in a narrower picture more lines coincide, and have longer names
      right = Math.max(right, 30 + LETTER * Math.max(...drawnLines.map(({ label }) => label.length)));
      drawnLines = linesWithin(width - right);
    }
    const legend = narrow && !isDirect ? rows(drawnLines.map(({ series, label }) => ({ ...series, label })), width - 20) : [];
    const height = HEIGHT + 18 * legend.length;
    const x = scale(spec.x.kind, spec.x.low, spec.x.high, left, width - right);
    const picture = frame(width, height, spec);
    for (const [value, text] of heights) {
      picture.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
      picture.append(svg("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, text));
    }
    let beyond = -Infinity;
    for (const value of x.ticks(narrow ? 5 : 7)) {
      const text = spec.x.tick ? spec.x.tick(value) : short(value, 2);
      const half = text.length * 3.4 + 3;
      picture.append(svg("line", { class: "axis", x1: x(value), x2: x(value), y1: HEIGHT - bottom, y2: HEIGHT - bottom + 4 }));
      if (x(value) - half < beyond) continue;
      picture.append(svg("text", { x: x(value), y: HEIGHT - bottom + 17, "text-anchor": "middle" }, text));
      beyond = x(value) + half;
    }
    picture.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: HEIGHT - bottom, y2: HEIGHT - bottom }));
    picture.append(svg("text", { x: (left + width - right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, spec.x.label));
    picture.append(svg("text", { x: 13, y: (HEIGHT - bottom + top) / 2, "text-anchor": "middle", transform: `rotate(-90 13 ${(HEIGHT - bottom + top) / 2})` }, spec.y.label));
    const box = { left, right: width - right, top, bottom: HEIGHT - bottom };
    const taken = [...rulesDrawn(picture, spec, x, y, box)];
    const lines = [];
    for (const { series, points } of drawnLines) {
      if (spec.points) lines.push(...points.map(([a, b]) => svg("circle", { class: `point ${series.class}`, cx: a.toFixed(2), cy: b.toFixed(2), r: 2.5 })));
      lines.push(svg("path", { class: `series ${series.class}`, d: path(points, spec.stepped) }));
    }
    picture.append(...lines.reverse()); // ours is the first series and lies on top
    taken.push(...dotsDrawn(picture, spec, x, y, box));
    if (isDirect) {
      directLabels(drawnLines, box, taken).forEach((label, index) => {
        const { series, label: name } = drawnLines[index];
        if (label) picture.append(svg("text", { class: `label mark ${series.class}`, x: label.left + 2, y: label.bottom - 3 }, name));
      });
    } else if (!narrow) {
      const labels = drawnLines.map(({ series, label, points }) => ({ series: { ...series, label }, y: spec.labelsOnTop ? top : points.at(-1)[1] }));
      for (const label of spread(labels, top + 4, HEIGHT - bottom - 2)) picture.append(...key(label.series, width - right + 5, label.at));
    }
    legend.forEach((row, index) => {
      for (const { series, at } of row) picture.append(...key(series, 10 + at, HEIGHT + 8 + 18 * index));
    });
    pointed(place, picture, spec, x, box);
    return picture;
  });
}

/** Where a text of this length stands, in pixels. */
const textBox = (x, y, text, anchor) => {
  const width = LETTER * text.length;
  const left = anchor === "end" ? x - width : x;
  return { left: left - 2, right: left + width + 2, top: y - 12, bottom: y + 5 };
};

/** Lines across the picture; gives the boxes of their names. */
function rulesDrawn(picture, spec, x, y, box) {
  const taken = [];
  for (const rule of spec.rules ?? []) {
    if (rule.y !== undefined && inside(rule.y, spec.y)) {
      picture.append(svg("line", { class: "rule", x1: box.left, x2: box.right, y1: y(rule.y), y2: y(rule.y) }));
      // On the side where no dot is.
      const isRight = rule.isRight ?? (spec.dots ?? []).some((dot) => x(dot.x) < (box.left + box.right) / 2);
      const place = { x: isRight ? box.right - 6 : box.left + 6, y: y(rule.y) - 5, "text-anchor": isRight ? "end" : "start" };
      picture.append(svg("text", place, rule.label));
      taken.push(textBox(place.x, place.y, rule.label, place["text-anchor"]));
    }
    if (rule.x !== undefined && inside(rule.x, spec.x)) {
      picture.append(svg("line", { class: "rule", x1: x(rule.x), x2: x(rule.x), y1: box.top, y2: box.bottom }));
    }
  }
  return taken;
}

/** Marked points; gives the boxes of their names. */
function dotsDrawn(picture, spec, x, y, box) {
  const taken = [];
  for (const dot of spec.dots ?? []) {
    if (!inside(dot.x, spec.x) || !inside(dot.y, spec.y)) continue;
    picture.append(svg("circle", { class: `dot ${dot.class}`, cx: x(dot.x), cy: y(dot.y), r: 6 }));
    const isAbove = y(dot.y) > box.top + 8;
    const hasRoom = x(dot.x) - 9 - LETTER * dot.label.length > box.left;
    const place = { x: x(dot.x) + (hasRoom ? -9 : 9), y: y(dot.y) + (isAbove ? -9 : 18), "text-anchor": hasRoom ? "end" : "start" };
    picture.append(svg("text", { class: `label mark ${dot.class}`, ...place }, dot.label));
    taken.push(textBox(place.x, place.y, dot.label, place["text-anchor"]));
  }
  return taken;
}

/** Bars from 0: spec = {title, summary, x: {label}, bars: [{name, class, value, text}], table}. */
export function barChart(place, spec) {
  drawn(place, spec, (width) => {
    const left = 18 + LETTER * Math.max(...spec.bars.map((bar) => bar.name.length));
    const right = 62;
    const row = Math.min(40, Math.max(27, 250 / spec.bars.length));
    const height = row * spec.bars.length + 46;
    const most = Math.max(...spec.bars.map((bar) => bar.value ?? 0), 1e-12);
    const x = scale("linear", 0, most, left, width - right);
    const picture = frame(width, height, spec);
    for (const value of x.ticks(width < 460 ? 3 : 5)) {
      picture.append(svg("line", { class: "grid", x1: x(value), x2: x(value), y1: 4, y2: height - 40 }));
      picture.append(svg("text", { x: x(value), y: height - 24, "text-anchor": "middle" }, short(value, 2)));
    }
    picture.append(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, spec.x.label));
    spec.bars.forEach((bar, index) => {
      const y = 4 + row * index;
      picture.append(svg("text", { class: `label ${bar.class}`, x: left - 8, y: y + row / 2 + 4, "text-anchor": "end" }, bar.name));
      picture.append(svg("rect", { class: `bar ${bar.class}`, x: left, y: y + row * 0.2, width: Math.max(x(bar.value ?? 0) - left, 1), height: row * 0.6, rx: 3 }));
      picture.append(svg("text", { class: "value", x: x(bar.value ?? 0) + 7, y: y + row / 2 + 4 }, bar.text));
    });
    return picture;
  });
}

function inside(value, axis) {
  return value >= axis.low - 1e-12 * Math.abs(axis.low) && value <= axis.high + 1e-12 * Math.abs(axis.high);
}

function frame(width, height, spec) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${spec.title}. ${spec.summary}` });
}

const watcher = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    if (target.redraw && Math.abs(contentRect.width - target.drawnWidth) > 1) target.redraw();
  }
});

/** Nothing there any more, and nothing drawn again; a table that was open will be open again. */
export function clearChart(place) {
  place.wasOpen = place.querySelector("details")?.open ?? place.wasOpen;
  place.redraw = null;
  place.replaceChildren();
}

/** Draws now, and again whenever the place changes its width; an open table stays open. */
function drawn(place, spec, draw) {
  const wasOpen = place.querySelector("details")?.open ?? place.wasOpen ?? false;
  place.redraw = () => {
    place.drawnWidth = place.clientWidth;
    const picture = draw(Math.max(place.clientWidth, 260));
    const before = place.querySelector(":scope > svg");
    if (before) before.replaceWith(picture);
    else place.prepend(picture);
  };
  place.replaceChildren();
  if (spec.table) place.append(table(spec, wasOpen));
  place.redraw();
  watcher.observe(place);
}

/** The numbers behind a picture. */
function table(spec, open) {
  const { head, rows } = spec.table;
  const cells = (tag, row, first) =>
    element("tr", {}, ...row.map((text, index) => (index === 0 ? element("th", { scope: first }, text) : element(tag, tag === "th" ? { scope: "col" } : {}, text))));
  return element(
    "details",
    { open },
    element("summary", {}, `Table: ${spec.title.toLowerCase()}`),
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${spec.title.toLowerCase()}` },
      element(
        "table",
        {},
        element("caption", {}, spec.summary),
        element("thead", {}, cells("th", head, "col")),
        element("tbody", {}, ...rows.map((row) => cells("td", row, "row"))),
      ),
    ),
  );
}

/** What the drawn line of a series says at `value`, or null beside it. */
function read(series, value, kind) {
  const next = series.x.findIndex((x) => x >= value);
  if (next < 0) return null;
  if (series.x[next] === value) return series.y[next];
  if (next === 0) return null;
  const share = (value - series.x[next - 1]) / (series.x[next] - series.x[next - 1]);
  const [low, high] = [series.y[next - 1], series.y[next]];
  if (low === null || high === null) return null;
  return kind === "log" ? low * (high / low) ** share : low + (high - low) * share;
}

/** A readout under the pointer; the table holds the same numbers for everybody else. */
function pointed(place, picture, spec, x, box) {
  const xs = spec.series[0]?.x ?? [];
  const rule = svg("line", { class: "axis", y1: box.top, y2: box.bottom, visibility: "hidden" });
  picture.append(rule);
  const hide = () => {
    rule.setAttribute("visibility", "hidden");
    place.querySelector(".tip")?.remove();
  };
  const text = spec.y.text ?? short;
  const nearest = (at) => xs.reduce((best, value) => (Math.abs(x(value) - at) < Math.abs(x(best) - at) ? value : best), xs[0]);
  const rounded = (at) => {
    const share = Math.min(Math.max((at - box.left) / (box.right - box.left), 0), 1);
    const value = Number((spec.x.low + share * (spec.x.high - spec.x.low)).toPrecision(spec.x.digits));
    return value > spec.x.high ? nearest(at) : value;
  };
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("pointermove", (event) => {
    const at = event.clientX - picture.getBoundingClientRect().left;
    if (at < box.left - 4 || at > box.right + 4 || !xs.length) return hide();
    const value = spec.x.digits ? rounded(at) : nearest(at);
    const line = x(value);
    rule.setAttribute("x1", line);
    rule.setAttribute("x2", line);
    rule.setAttribute("visibility", "visible");
    place.querySelector(".tip")?.remove();
    const shown = spec.x.digits ? String(value) : short(value);
    const tip = element("div", { class: "tip", "aria-hidden": "true" }, element("b", {}, `${spec.x.brief} ${shown}`));
    for (const series of spec.series) {
      const found = spec.x.digits ? read(series, value, spec.y.kind) : series.x === xs ? series.y[xs.indexOf(value)] : undefined;
      if (found !== undefined) tip.append(element("div", {}, `${series.label}: ${found === null ? "none" : text(found)}`));
    }
    place.append(tip);
    tip.style.top = `${box.top + 6}px`;
    tip.style.left = line > (box.left + box.right) / 2 ? `${line - tip.offsetWidth - 10}px` : `${line + 10}px`;
  });
}
