// What the page shows of an answer: no numbers are made here, only laid out.

import { barChart, clearChart, lineChart } from "./chart.js";
import { above, below, element, halfWidthText, lawClass, short, svg, uncertain } from "./format.js";

const UNKNOWN = "not known";
const KEPT = ["kept-gain", "kept-limits", "code-kept-python", "code-kept-command"];
const CLAIMS = ["law-claim", "curve-claim", "numbers-claim", "rivals-claim"];
const at = (id) => document.getElementById(id);

/** Whether one draw could be kept for all answers. */
export const isOneByOne = (state) => state.asked === "apart" && Number(state.answers) > 1;

/** What was typed as the example, or null if it is no number. */
function exampleNumber(state) {
  const value = Number(state.value.replace(/,/g, ""));
  return state.value.trim() && Number.isFinite(value) ? value : null;
}

/** "1,204 patients" and "± 12", or what was typed as it is if it is no number. */
function exampleTexts(state, halfWidth) {
  const value = exampleNumber(state);
  const isWhole = state.domain === "integer";
  const [shown, width] = value === null ? [state.value, halfWidthText(halfWidth, isWhole)] : uncertain(value, halfWidth, isWhole);
  return [`${shown} ${state.unit}`.trim(), `± ${width}`];
}

/** A share of right guesses, an upper bound. */
const guessText = (guess) => `≤ ${(Math.ceil(guess * 1000) / 10).toFixed(1)} %`;

const title = (name) => name.charAt(0).toUpperCase() + name.slice(1);

/** The example, and its error bar if there is an answer for the setting. */
export function showExample(state, answer) {
  if (!answer) {
    const value = exampleNumber(state);
    const shown = value === null ? state.value : value.toLocaleString("en-US", { maximumFractionDigits: 12 });
    at("figure-value").textContent = `${shown} ${state.unit}`.trim();
    return;
  }
  const [value, width] = exampleTexts(state, answer.half_width);
  at("figure-value").textContent = value;
  at("figure-width").textContent = width;
  showBars(answer);
  at("mini-value").textContent = `${value} ${width}`;
  at("mini-epsilon").textContent = `ε = ${above(answer.epsilon)}`;
}

/** One picture at a time; the others are drawn when they are looked at. */
export function showPicture(state) {
  for (const part of document.querySelectorAll("[data-chart]")) part.hidden = part.dataset.chart !== state.chart;
  at("which-scale").hidden = state.chart !== "law";
  at("which-laws").hidden = state.chart === "rivals";
}

/** Ours, Gaussian noise and the best of the others, unless all are wanted. */
function chosen(state, answer, series) {
  if (state.laws === "all") return series;
  const others = answer.rivals.filter(({ name, epsilon }) => epsilon !== null && !/gaussian$/i.test(name) && series.some((one) => one.name === name));
  const best = others.sort((one, other) => one.epsilon - other.epsilon)[0]?.name;
  const isMain = ({ name }) => ["this design", "Gaussian", "discrete Gaussian", "best known joint law", best].includes(name) || name.startsWith("setting ");
  return series.filter(isMain);
}

/** Nothing is known for this setting yet: no number, sentence, picture or code of another one stays. The cards keep their height. */
export function blank(state) {
  for (const card of document.querySelectorAll("#results > .card")) card.style.minHeight = `${card.offsetHeight}px`;
  at("results").classList.add("is-preview");
  showExample(state, null);
  at("figure-width").textContent = "± …";
  for (const name of [...CLAIMS, "accuracy", "mini-value", "mini-epsilon", "code-python", "code-command", "code-plan", ...KEPT]) at(name).textContent = "";
  for (const name of ["epsilon", "sigma", "ratio", "guess"]) at(`tile-${name}`).textContent = "…";
  at("tile-guesses").textContent = "";
  for (const name of ["bars", "sentences", "proof"]) at(name).replaceChildren();
  for (const name of ["kept-laws", "law", "curve", "numbers", "rivals"]) clearChart(at(name));
  at("kept").hidden = !isOneByOne(state);
}

/** Nothing more will come: the cards are as high as what is in them, and what there is no number for says so. */
export function settled() {
  for (const place of document.querySelectorAll(".tiles dd, #figure-width")) place.textContent = place.textContent.replace("…", UNKNOWN);
  for (const card of document.querySelectorAll("#results > .card")) card.style.minHeight = "";
}

/** Our error bar above that of Gaussian noise with the same guarantee. */
function showBars(answer) {
  const bars = [{ name: "this design", width: answer.half_width, class: "law-ours" }];
  if (answer.gaussian?.sigma) {
    bars.push({ name: "Gaussian", width: answer.gaussian.half_width, class: "law-gaussian" });
  }
  const place = at("bars");
  const isWhole = answer.domain === "integer";
  const width = Math.max(place.clientWidth, 240);
  const label = 92;
  const right = 62;
  const most = Math.max(...bars.map((bar) => bar.width));
  const middle = label + (width - label - right) / 2;
  const reach = (width - label - right) / 2 - 8;
  // Both are written alike, so that they can be compared.
  const texts = bars.map((bar) => `± ${halfWidthText(bar.width, isWhole)}`);
  const said = bars.map((bar, index) => `${bar.name} ${texts[index].replace("±", "plus or minus")}`).join(", ");
  const picture = svg("svg", { viewBox: `0 0 ${width} ${bars.length * 28 + 6}`, height: bars.length * 28 + 6, role: "img", "aria-label": `Error bars at the same guarantee: ${said}` });
  bars.forEach((bar, index) => {
    const y = 16 + 28 * index;
    const half = (reach * bar.width) / most;
    picture.append(svg("text", { class: bar.class, x: 0, y: y + 4 }, bar.name));
    picture.append(svg("line", { class: bar.class, x1: middle - half, x2: middle + half, y1: y, y2: y, "stroke-width": 3, "stroke-dasharray": "none" }));
    for (const side of [-1, 1]) picture.append(svg("line", { class: bar.class, x1: middle + side * half, x2: middle + side * half, y1: y - 7, y2: y + 7, "stroke-width": 3, "stroke-dasharray": "none" }));
    picture.append(svg("circle", { class: bar.class, cx: middle, cy: y, r: 4.5, "stroke-dasharray": "none" }));
    picture.append(svg("text", { class: bar.class, x: width, y: y + 4, "text-anchor": "end" }, texts[index]));
  });
  place.replaceChildren(picture);
}

/** The known laws, before the design is there or where there will be none. */
export function showKnown(state, known, isDesigning) {
  at("code-command").textContent = known.command;
  if (!known.laws.length) return;
  const best = known.laws[0];
  const [value, width] = exampleTexts(state, best.half_width);
  at("figure-value").textContent = value;
  at("figure-width").textContent = `${width} or less`;
  at("tile-epsilon").textContent = `ε ≤ ${above(best.epsilon)}`;
  at("tile-sigma").textContent = `σ ≤ ${above(best.sigma)}`;
  at("accuracy").textContent = `${title(best.name)} noise gives this already.${isDesigning ? " The best noise is being designed." : ""}`;
}

export function showDesign(state, answer) {
  at("results").classList.remove("is-preview");
  showExample(state, answer);
  at("accuracy").textContent = answer.accuracy;
  at("tile-epsilon").textContent = `ε = ${above(answer.epsilon)}`;
  at("tile-sigma").textContent = `σ = ${short(answer.std, 4)}`;
  const ratio = answer.gaussian.variance_ratio;
  const isMore = ratio && ratio < 1; // a known law in the place of a design that takes too long may need more than Gaussian noise
  at("tile-ratio").textContent = ratio ? `${(isMore ? 1 / ratio : ratio).toFixed(2)} ×` : UNKNOWN;
  at("ratio-name").textContent = `${isMore ? "more" : "less"} variance than Gaussian noise with the same guarantee`;
  at("tile-guess").textContent = guessText(answer.guess);
  at("tile-guesses").textContent = answer.allowed_guess ? `Gaussian noise ${(100 * answer.gaussian_guess).toFixed(1)} %, allowed ${guessText(answer.allowed_guess).slice(2)}` : "";
  at("sentences").replaceChildren(...answer.sentences.map((sentence) => element("li", {}, sentence)));
  for (const [name, text] of Object.entries(answer.claims)) at(`${name}-claim`).textContent = text;
  showRivals(answer);
  showProof(answer);
  for (const kind of ["python", "command", "plan"]) at(`code-${kind}`).textContent = answer[kind];
}

/** The laws around 0, linear to 4 σ or logarithmic to 6 σ; pinned settings beside them. */
export function showLaw(state, answer, known, others) {
  const law = { ...answer.law, series: [...answer.law.series, ...(known?.series ?? [])] };
  const isLog = state.scale === "log";
  const reach = (isLog ? 6 : 4) * answer.std;
  const mirrored = (values, sign) => [...values.slice(1).reverse().map((value) => (value === null ? null : sign * value)), ...values];
  const x = mirrored(law.x, -1);
  const series = law.series.map(({ name, y }) => ({ name, label: title(name), class: lawClass(name), x, y: mirrored(y, 1) }));
  for (const [word, pin] of Object.entries(others)) {
    if (pin?.law) series.push({ name: `setting ${word}`, label: `Setting ${word}`, class: `law-${word.toLowerCase()}`, x: mirrored(pin.law.x, -1), y: mirrored(pin.law.series[0].y, 1) });
  }
  const seen = chosen(state, answer, series);
  const high = Math.max(...seen.flatMap((one) => one.y.filter((value) => value !== null)));
  const kind = law.is_density ? "density" : "probability";
  const every = Math.max(1, Math.floor(law.x.length / 40));
  lineChart(at("law"), {
    title: "The noise on one answer",
    summary: `${title(kind)} of each size of the noise, at standard deviation ${short(answer.std)}; the same on both sides of 0.`,
    x: { label: "noise, in units of the answer", brief: "noise", kind: "linear", low: -reach, high: reach },
    y: { label: kind, kind: isLog ? "log" : "linear", low: isLog ? high * 1e-9 : 0, high: high * (isLog ? 2 : 1.06) },
    series: seen,
    stepped: !law.is_density && law.x.length < 60,
    labelsOnTop: true,
    table: {
      head: ["noise ±", ...law.series.map(({ name }) => title(name))],
      rows: law.x.map((value, index) => [short(value), ...law.series.map(({ y }) => short(y[index]))]).filter((_, index) => index % every === 0),
    },
  });
}

/** One kept draw beside the design, which is drawn anew for each answer. */
export function showKept(answer, kept) {
  at("kept-gain").textContent = kept.gain;
  at("kept-limits").textContent = kept.limits;
  for (const kind of ["python", "command"]) at(`code-kept-${kind}`).textContent = kept[kind];
  if (!kept.laws.length) return;
  if (kept.hint) at("accuracy").textContent = `${answer.accuracy} ${kept.hint}`;
  const byEpsilon = answer.setting.by === "epsilon";
  const size = (law) => (byEpsilon ? law.sigma : law.epsilon);
  const text = (law) => (byEpsilon ? short(law.sigma, 4) : law.epsilon === null ? "none" : above(law.epsilon));
  const fixed = byEpsilon ? `ε = ${above(answer.epsilon)}` : `σ = ${short(answer.std)}`;
  const label = byEpsilon ? "standard deviation σ" : "privacy loss ε";
  barChart(at("kept-laws"), {
    title: "One kept draw beside noise drawn anew for each answer",
    summary: `${title(label)} of each at ${fixed} and δ = ${short(answer.delta)}, over ${answer.answers.toLocaleString("en-US")} answers. Shorter is better.`,
    x: { label: `${label} at ${fixed}` },
    bars: kept.laws.map((law) => ({ name: title(law.name), class: lawClass(law.name), value: size(law), text: text(law) })),
    table: {
      head: ["noise", "ε", "σ", "± at 95 %", "best guess about a person"],
      rows: kept.laws.map((law) => [title(law.name), above(law.epsilon, 4), short(law.sigma, 4), halfWidthText(law.half_width, false), guessText(law.guess)]),
    },
  });
}

export function showCurve(state, answer, curve) {
  const few = chosen(state, answer, curve.series);
  lineChart(at("curve"), {
    title: "The privacy curve",
    summary: `The δ that goes with each ε, over ${answer.answers.toLocaleString("en-US")} answer(s), for laws of the same standard deviation. Lower is better. All are upper bounds.`,
    // Under the pointer stands an ε with three digits, and the δ of that very number.
    x: { label: "privacy loss ε", brief: "ε =", kind: "linear", low: 0, high: curve.epsilon.at(-1), digits: 3 },
    y: { label: "δ", kind: "log", low: curve.low, high: 1, text: (delta) => `δ ≤ ${above(delta)}` },
    series: few.map(({ name, line }) => ({ name, label: title(name), class: lawClass(name), ...line })),
    rules: [{ y: answer.delta, label: `δ = ${short(answer.delta)}` }],
    dots: [{ x: answer.epsilon, y: answer.delta, class: "law-ours", label: `ε = ${above(answer.epsilon)}` }],
    table: {
      head: ["ε", ...curve.series.map(({ name }) => title(name))],
      rows: curve.epsilon.map((value, index) => [above(value, 6), ...curve.series.map(({ y }) => above(y[index]))]),
    },
  });
}

export function showNumbers(state, answer, numbers) {
  const few = chosen(state, answer, numbers.series);
  const values = few.flatMap(({ y }) => y.filter((value) => value !== null && value > 0));
  if (numbers.here.epsilon > 0) values.push(numbers.here.epsilon);
  if (!values.length) values.push(1);
  const high = Math.max(...values);
  const low = Math.min(...values);
  lineChart(at("numbers"), {
    title: "ε against the number of answers",
    summary: `Computed where there are points; the lines only join them. At standard deviation ${short(answer.std)} and δ = ${short(answer.delta)}. Noise drawn for each answer by itself${answer.together ? ", and one joint draw for all" : ""}.`,
    x: { label: "number of answers", brief: "answers:", kind: "log", low: 1, high: numbers.answers.at(-1) },
    y: { label: "privacy loss ε", kind: "log", low: low * 0.8, high: high * 1.25, text: (epsilon) => `ε ≤ ${above(epsilon)}` },
    points: true,
    series: few.map(({ name, y }) => ({
      name, y, x: numbers.answers, class: lawClass(name),
      label: name === "best known joint law" ? "Best known joint law" : title(name),
    })),
    rules: [{ x: numbers.here.answers }],
    dots: [{ x: numbers.here.answers, y: numbers.here.epsilon, class: "law-ours", label: `ε = ${above(numbers.here.epsilon)}` }],
    table: {
      head: ["answers", ...numbers.series.map(({ name }) => title(name))],
      rows: numbers.answers.map((value, index) => [value.toLocaleString("en-US"), ...numbers.series.map(({ y }) => above(y[index]))]),
    },
  });
}

function showRivals(answer) {
  const bars = [
    { name: "This design", class: "law-ours", value: answer.epsilon, text: above(answer.epsilon) },
    ...answer.rivals.map(({ name, epsilon }) => ({ name: title(name), class: lawClass(name), value: epsilon, text: epsilon === null ? "none" : above(epsilon) })),
  ];
  barChart(at("rivals"), {
    title: "ε of every known law",
    summary: `Privacy loss ε of each law at standard deviation ${short(answer.std)} and δ = ${short(answer.delta)}. Shorter is better.`,
    x: { label: `privacy loss ε at σ = ${short(answer.std)}` },
    bars,
    table: { head: ["law", "ε"], rows: bars.map((bar) => [bar.name, bar.value === null ? "none" : above(bar.value, 5)]) },
  });
}

function lawText(answer) {
  if (answer.origin === "optimised") return "optimised for this use";
  return `${answer.origin}, a known law: ${answer.is_known ? "no better one was looked for" : "nothing better was found"}`;
}

function showProof(answer) {
  const rows = [
    ["Upper bound on ε", `${above(answer.epsilon, 6)} at δ = ${short(answer.delta)}`],
    ["Lower bound on ε", `${below(answer.epsilon_lower, 6)}: the exact value lies between the two`],
    ["Law", lawText(answer)],
    ["Drawn as", answer.reason],
    ["Holds if", answer.condition],
    ["Worst change", answer.worst_shift],
    ["Duality gap", answer.gap === null ? "none: no program was solved for a known law" : `${short(answer.gap, 2)} of the Rényi program the search started from. ${answer.status}`],
    ["Rényi order", answer.renyi_order === null ? "none" : typeof answer.renyi_order === "string" ? answer.renyi_order : short(answer.renyi_order, 4)],
    ["Cost of the lattice", answer.discretisation === null ? "none" : `about ${short(answer.discretisation, 2)} of the divergence`],
    ["Residual", `mass and variance are met to ${short(answer.residual, 2)}`],
  ];
  at("proof").replaceChildren(...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

/** The current setting beside A and B. */
export function showCompare(answer, pins, unpin) {
  const body = at("compare-body");
  const named = Object.entries(pins).filter(([, pin]) => pin);
  if (!named.length) {
    body.replaceChildren(element("p", { class: "help" }, "Pin the present setting as A, move something, and see both here side by side. Pins are part of the address."));
    return;
  }
  const columns = [["now", answer], ...named].filter(([, one]) => one); // no column for a setting without an answer
  const settled = (one) => (one.error ? null : one);
  const ratio = (one) => one.gaussian.variance_ratio;
  const rows = [
    ["ε", (one) => above(one.epsilon, 4), (one) => -one.epsilon],
    ["δ", (one) => short(one.delta)],
    ["answers", (one) => `${one.answers.toLocaleString("en-US")}${one.answers > 1 ? (one.together ? ", together" : ", one by one") : ""}`],
    ["sensitivity", (one) => short(one.sensitivity)],
    ["one person moves them", (one) => one.moves],
    ["answers are", (one) => (one.domain === "integer" ? "whole numbers" : "real numbers")],
    ["σ", (one) => short(one.std, 4), (one) => -one.std],
    ["± at 95 %", (one) => halfWidthText(one.half_width, one.domain === "integer"), (one) => -one.half_width],
    ["less variance than Gaussian", (one) => (ratio(one) ? `${ratio(one).toFixed(2)} ×` : UNKNOWN), (one) => ratio(one) ?? 0],
    ["best guess about a person", (one) => guessText(one.guess), (one) => -one.guess],
  ];
  const bestOf = (score) => Math.max(...columns.map(([, one]) => (settled(one) ? score(one) : -Infinity)));
  const head = columns.map(([name]) =>
    element("th", { scope: "col" }, name === "now" ? "Now" : `Setting ${name} `, name === "now" ? null : removal(name, unpin)),
  );
  body.replaceChildren(
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Comparison" },
      element(
        "table",
        {},
        element("caption", {}, "The best of each row is set in colour and bold."),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Setting"), ...head)),
        element(
          "tbody",
          {},
          ...rows.map(([name, text, score]) =>
            element(
              "tr",
              {},
              element("th", { scope: "row" }, name),
              ...columns.map(([, one]) => {
                if (!settled(one)) return element("td", {}, one.error);
                const isBest = score && columns.length > 1 && score(one) >= bestOf(score) * (1 - Math.sign(bestOf(score)) * 1e-9);
                return element("td", isBest ? { class: "best" } : {}, text(one));
              }),
            ),
          ),
        ),
      ),
    ),
  );
}

function removal(name, unpin) {
  const button = element("button", { type: "button", class: "quiet", "aria-label": `Remove setting ${name}` }, "×");
  button.addEventListener("click", () => unpin(name));
  return button;
}
