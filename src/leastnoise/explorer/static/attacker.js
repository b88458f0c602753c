// The game: releases fall, a visitor says whether Ada is in the data, and the score meets its proven bound.
// The dots are drawn here from the two laws of the answer; every other number is read from it.

import { ask, Refused } from "./requests.js";
import { clearChart, lineChart } from "./chart.js";
import { Controls } from "./controls.js";
import { above, element, short, svg } from "./format.js";
import { query, readAddress, writeAddress } from "./state.js";
import "./theme.js";

const PAUSE = 140; // milliseconds after the last move before anything is asked
const KEPT = 60; // dots that stay on the board
const HEIGHT = 250;
const CLASSES = { "this design": "law-ours", "Gaussian, same ε and δ": "law-gaussian", "Gaussian, same variance": "law-sphere" };

const at = (id) => document.getElementById(id);
const state = { ...readAddress(), ...extras() };
const play = { answer: null, query: null, fallen: null, dots: [], you: [0, 0], best: [0, 0], scores: [] };
let question = new AbortController();
let timer = 0;
let random = generator(state.seed ? Number(state.seed) : crypto.getRandomValues(new Uint32Array(1))[0]);

/** What this view alone has in its address. */
function extras() {
  const given = new URLSearchParams(location.hash.slice(1));
  return { prior: given.get("prior") ?? "0.5", seed: given.get("seed") ?? "" };
}

/** Uniform numbers in [0, 1) from a seed, so that a game can be played again: for a game, never for a release. */
function generator(seed) {
  let word = seed >>> 0;
  return () => {
    word = (word + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(word ^ (word >>> 15), 1 | word);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const controls = new Controls(at("controls"), state, (quick) => {
  writeAddress(state, timer === 0);
  changed(quick ? 0 : PAUSE);
});

function changed(milliseconds) {
  question.abort();
  forget();
  clearTimeout(timer);
  timer = setTimeout(refresh, milliseconds);
}

function forget() {
  Object.assign(play, { answer: null, query: null, fallen: null });
  startAgain();
  at("results").setAttribute("aria-busy", "true");
  for (const name of ["board", "sentences", "table"]) at(name).replaceChildren();
  for (const name of ["score", "tradeoff"]) clearChart(at(name));
  for (const name of ["game-lead", "score-claim", "tradeoff-claim", "verdict"]) at(name).textContent = "";
  for (const name of ["score-you", "score-best", "score-bound", "score-blind"]) at(name).textContent = "…";
  for (const button of document.querySelectorAll("#results button")) button.disabled = true;
  notice("");
}

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

async function refresh() {
  timer = 0;
  const wanted = query(state);
  question.abort();
  question = new AbortController();
  const { signal } = question;
  try {
    const answer = await ask("game", wanted, signal, (text) => !signal.aborted && notice(text));
    if (signal.aborted || wanted !== query(state)) return;
    controls.showErrors({});
    notice("");
    Object.assign(play, { answer, query: wanted });
    begin();
  } catch (error) {
    if (signal.aborted) return;
    controls.showErrors(error instanceof Refused ? error.errors : {});
    notice(error.message);
  }
  at("results").setAttribute("aria-busy", "false");
}

/** The board is there. */
function begin() {
  for (const button of document.querySelectorAll("#results button")) button.disabled = false;
  startAgain();
  showNumbers();
  showTradeoff();
}

function startAgain() {
  Object.assign(play, { dots: [], you: [0, 0], best: [0, 0], scores: [] });
  at("verdict").textContent = "";
  if (!play.answer) return;
  showBoard();
  showScores();
  fall();
}

// The prior

const place = () => {
  const wanted = Number(state.prior);
  const gaps = (play.answer?.priors ?? PRIORS).map((prior) => Math.abs(prior - wanted));
  return gaps.indexOf(Math.min(...gaps));
};
const PRIORS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
const prior = () => (play.answer?.priors ?? PRIORS)[place()];

function showPrior() {
  at("prior").value = place();
  at("prior-said").textContent = `${short(100 * prior())} %`;
  at("prior").setAttribute("aria-valuetext", `${short(100 * prior())} %`);
}

at("prior").addEventListener("input", () => {
  state.prior = String((play.answer?.priors ?? PRIORS)[Number(at("prior").value)]);
  writeAddress(state);
  showPrior();
  if (play.answer) begin();
});

// A round

/** One of the places of the board, by the law with or without Ada. */
function drawnFrom(masses) {
  let left = random();
  for (let index = 0; index < masses.length - 1; index += 1) {
    left -= masses[index];
    if (left < 0) return index;
  }
  return masses.length - 1;
}

function release() {
  const { board } = play.answer;
  const isIn = random() < prior();
  const index = drawnFrom(isIn ? board.present : board.without);
  return { isIn, index };
}

/** What the best attacker says of a place: the likelier of the two. */
function likelier(index) {
  const { board } = play.answer;
  return prior() * board.present[index] > (1 - prior()) * board.without[index];
}

function fall() {
  play.fallen = release();
  showDots(true);
}

function guess(saysIn) {
  if (!play.answer || !play.fallen) return;
  const { isIn, index } = play.fallen;
  const isRight = saysIn === isIn;
  play.you = [play.you[0] + (isRight ? 1 : 0), play.you[1] + 1];
  play.dots = [...play.dots, { isIn, index, isRight }].slice(-KEPT);
  const best = likelier(index) === saysIn ? "The best attacker would have said the same." : "The best attacker would have said the other.";
  at("verdict").textContent = `${isRight ? "Right" : "Wrong"}: Ada is ${isIn ? "in" : "not in"} the data. ${best}`;
  showScores();
  fall();
}

function letPlay(rounds) {
  if (!play.answer) return;
  for (let k = 0; k < rounds; k += 1) {
    const { isIn, index } = release();
    const isRight = likelier(index) === isIn;
    play.best = [play.best[0] + (isRight ? 1 : 0), play.best[1] + 1];
    if (isMarked(play.best[1])) play.scores.push([play.best[1], play.best[0] / play.best[1]]);
    if (k >= rounds - KEPT) play.dots = [...play.dots, { isIn, index, isRight }].slice(-KEPT);
  }
  at("verdict").textContent = `The best attacker was right ${play.best[0].toLocaleString("en-US")} times of ${play.best[1].toLocaleString("en-US")}.`;
  showDots(false);
  showScores();
}

/** Rounds after which the score is noted: all of the first, then a hundred in every decade. */
const isMarked = (round) => round % Math.max(1, 10 ** (Math.floor(Math.log10(round)) - 1)) === 0;

at("guess-in").addEventListener("click", () => guess(true));
at("guess-out").addEventListener("click", () => guess(false));
for (const rounds of [1, 100, 10000]) at(`play-${rounds}`).addEventListener("click", () => letPlay(rounds));
at("again").addEventListener("click", startAgain);
addEventListener("keydown", (event) => {
  if (event.target.closest("input, .scroll, summary") || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "ArrowRight") guess(true);
  else if (event.key === "ArrowLeft") guess(false);
  else return;
  event.preventDefault();
});

// The board

const bound = () => play.answer.laws[0].success[place()];
const blind = () => Math.max(prior(), 1 - prior());
const share = (value) => `${(100 * value).toFixed(1)} %`;
const shareUp = (value) => `${(Math.ceil(value * 1000 - 1e-9) / 10).toFixed(1)} %`;

/** Places of the board as few columns, so that every dot has room. */
function columns(width) {
  const { places, without, present } = play.answer.board;
  const [low, high] = [places[0], places.at(-1)];
  const isWhole = play.answer.board.axis === "number" && play.answer.domain === "integer";
  const most = Math.max(8, Math.floor(width / 13));
  const count = isWhole && places.length <= most ? places.length : Math.min(most, 48);
  const of = (index) => Math.min(count - 1, Math.floor(((places[index] - low) / (high - low || 1)) * count));
  const found = Array.from({ length: count }, () => [0, 0]);
  places.forEach((_, index) => {
    const column = isWhole && places.length <= most ? index : of(index);
    found[column][0] += without[index];
    found[column][1] += present[index];
  });
  return { masses: found, of: (index) => (isWhole && places.length <= most ? index : of(index)), low, high };
}

const layout = {};

function showBoard() {
  const { answer } = play;
  const isNumber = answer.board.axis === "number";
  const many = answer.answers === 1 ? "One number is published." : `${answer.answers.toLocaleString("en-US")} numbers are published; what falls is all they say about Ada, as evidence for or against.`;
  at("game-lead").textContent = `${many} Each dot is one release, drawn from one of the two laws. Say which. ${isNumber ? "Left of the middle speaks for “not in”, right of it for “in”, but noise hides most of it." : ""}`;
  at("board").redraw = () => {
    const width = Math.max(at("board").clientWidth, 280);
    const { masses, of, low, high } = columns(width);
    const cell = (width - 24) / masses.length;
    const base = HEIGHT - 40;
    const most = Math.max(...masses.flat());
    const x = (column) => 12 + cell * (column + 0.5);
    const y = (mass) => base - 150 * (mass / most);
    Object.assign(layout, { x, of, base, cell });
    const steps = (which) => masses.map((pair, column) => `${column ? "L" : "M"}${(12 + cell * column).toFixed(1)} ${y(pair[which]).toFixed(1)}H${(12 + cell * (column + 1)).toFixed(1)}`).join("");
    const picture = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img", "aria-label": "Two laws of what is published, with and without Ada, that mostly overlap, and the releases as dots" });
    picture.append(svg("path", { class: "hump without", d: steps(0) }), svg("path", { class: "hump present", d: steps(1) }));
    picture.append(svg("line", { class: "axis", x1: 12, x2: width - 12, y1: base, y2: base }));
    const peak = (which) => masses.reduce((best, pair, column) => (pair[which] - pair[1 - which] > masses[best][which] - masses[best][1 - which] ? column : best), 0);
    const half = 38;
    const inside = (at) => Math.min(Math.max(at, 12 + half), width - 12 - half);
    const [left, right] = [inside(Math.min(x(peak(0)), width / 2 - half - 6)), inside(Math.max(x(peak(1)), width / 2 + half + 6))];
    picture.append(svg("text", { class: "name without", x: left, y: 18, "text-anchor": "middle" }, "without Ada"));
    picture.append(svg("text", { class: "name present", x: right, y: 18, "text-anchor": "middle" }, "with Ada"));
    const name = isNumber ? "published number, less the true one without Ada" : "evidence: how many times as likely with Ada, as a logarithm";
    picture.append(svg("text", { x: width / 2, y: HEIGHT - 4, "text-anchor": "middle" }, name));
    for (const value of ticksOf(low, high)) {
      const column = ((value - low) / (high - low || 1)) * (masses.length - (isNumber && answer.domain === "integer" ? 1 : 0));
      const place = isNumber && answer.domain === "integer" ? x(column) : 12 + cell * column;
      picture.append(svg("text", { x: place, y: base + 16, "text-anchor": "middle" }, short(value, 2).replace("-", "−")));
    }
    picture.append(svg("g", { id: "dots" }));
    at("board").replaceChildren(picture);
    at("board").drawnWidth = at("board").clientWidth;
    showDots(false);
  };
  at("board").redraw();
  watcher.observe(at("board"));
}

const watcher = new ResizeObserver(([{ target, contentRect }]) => {
  if (play.answer && Math.abs(contentRect.width - target.drawnWidth) > 1) target.redraw();
});

function ticksOf(low, high) {
  const rough = (high - low) / 6;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((candidate) => candidate >= rough * 0.8);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(Math.abs(value) < step / 1e6 ? 0 : value);
  return found;
}

/** The dots stack up above the axis; the one that has just fallen is not yet coloured. */
function showDots(isFalling) {
  const group = document.getElementById("dots");
  if (!group || !play.answer) return;
  const heights = new Map();
  const size = Math.min(5, layout.cell / 2 - 0.5);
  const counts = new Map();
  for (const { index } of play.fallen ? [...play.dots, play.fallen] : play.dots) counts.set(layout.of(index), (counts.get(layout.of(index)) ?? 0) + 1);
  const step = Math.min(2 * size + 1, (layout.base - 40) / Math.max(1, ...counts.values())); // the highest column stays below the names
  const stacked = (index) => {
    const column = layout.of(index);
    const level = heights.get(column) ?? 0;
    heights.set(column, level + 1);
    return { cx: layout.x(column), cy: layout.base - size - 1 - level * step };
  };
  const marks = play.dots.map(({ isIn, index, isRight }) => svg("circle", { class: `release ${isIn ? "present" : "without"}${isRight ? "" : " missed"}`, ...stacked(index), r: size - (isRight ? 0 : 1) }));
  if (play.fallen) marks.push(svg("circle", { class: `release unknown${isFalling ? " falling" : ""}`, ...stacked(play.fallen.index), r: size + 2 }));
  group.replaceChildren(...marks);
}

function showScores() {
  const [you, mine] = play.you;
  const [best, rounds] = play.best;
  at("score-you").textContent = mine ? share(you / mine) : "…";
  at("score-best").textContent = rounds ? share(best / rounds) : "…";
  at("score-rounds").textContent = rounds ? `(${rounds.toLocaleString("en-US")} rounds)` : "";
  at("score-bound").textContent = shareUp(bound());
  at("score-blind").textContent = share(blind());
  showConvergence();
}

function showConvergence() {
  at("score-claim").textContent = prior() === 0.5 ? play.answer.headline : `Who thinks ${short(100 * prior())} % beforehand is right at most ${shareUp(bound())} of the time in the long run.`;
  const scores = play.scores;
  const most = Math.max(100, play.best[1]);
  const proven = bound();
  const grid = Array.from({ length: 61 }, (_, k) => most ** (k / 60));
  const spread = (n) => 2 * Math.sqrt((proven * (1 - proven)) / n);
  const low = Math.max(0, Math.min(blind(), proven) - 0.16);
  const high = Math.min(1, proven + 0.16);
  lineChart(at("score"), {
    title: "The score of the best attacker",
    summary: `Share of right guesses after each round. The proven bound is ${shareUp(proven)}; luck stays within the dotted lines 95 times in 100.`,
    x: { label: "rounds", brief: "rounds:", kind: "log", low: 1, high: most },
    y: { label: "right guesses", kind: "linear", low, high, text: share, tick: (value) => `${Math.round(100 * value)} %` },
    series: [
      { name: "score", label: scores.length ? "Best attacker" : "", class: "law-ours", x: scores.map(([n]) => n), y: scores.map(([, value]) => Math.min(Math.max(value, low), high)) },
      { name: "luck", label: "luck stays below", class: "law-b", x: grid, y: grid.map((n) => Math.min(proven + spread(n), high)) },
    ],
    rules: [{ y: proven, label: `proven: ${shareUp(proven)}`, isRight: true }, ...(proven - blind() > 0.03 ? [{ y: blind(), label: `without looking: ${share(blind())}`, isRight: true }] : [])],
    table: { head: ["rounds", "right guesses"], rows: scores.filter((_, k) => k % Math.max(1, Math.floor(scores.length / 40)) === 0).map(([n, value]) => [n.toLocaleString("en-US"), share(value)]) },
  });
}

function showTradeoff() {
  const { answer } = play;
  const percent = (value) => `${short(100 * value, 2)} %`;
  at("tradeoff-claim").textContent = answer.claim;
  lineChart(at("tradeoff"), {
    title: "Members recognised against false alarms",
    summary: "The largest share of members that any attacker recognises at each rate of false alarms; nearer to the diagonal is better. Upper bounds, computed at the rates of the table.",
    x: { label: "false alarms", brief: "false alarms", kind: "linear", low: 0, high: 1, tick: percent },
    y: { label: "members recognised", kind: "linear", low: 0, high: 1, text: (value) => `≤ ${shareUp(value)}`, tick: percent },
    series: [
      ...answer.laws.map(({ name, recognised }) => ({ name, label: name === "this design" ? "This design" : name, class: CLASSES[name], x: [0, ...answer.rates], y: [recognised[0], ...recognised] })),
      { name: "allowed", label: "Promise", class: "law-joint", x: [0, ...answer.rates], y: [answer.delta, ...answer.allowed.recognised] },
    ],
    table: {
      head: ["false alarms", ...answer.laws.map(({ name }) => name), "allowed by the promise"],
      rows: answer.rates.map((rate, index) => [percent(rate), ...answer.laws.map(({ recognised }) => shareUp(recognised[index])), shareUp(answer.allowed.recognised[index])]),
    },
  });
}

function showNumbers() {
  const { answer } = play;
  const [few, some] = [0.01, 0.1].map((rate) => answer.rates.indexOf(rate));
  const rows = [
    ...answer.laws.map(({ name, success, recognised }) => [name === "this design" ? "This design" : name, success, recognised]),
    ["Allowed by the promise", answer.allowed.success, answer.allowed.recognised],
  ];
  const guesses = prior() === 0.5 ? "right, from even odds" : `right, from ${short(100 * prior())} %`;
  const head = ["noise", guesses, "members found at 1 % false alarms", "at 10 %"];
  at("table").replaceChildren(
    element("caption", {}, `Over ${answer.answers === 1 ? "one answer" : `all ${answer.answers.toLocaleString("en-US")} answers`}, ε = ${above(answer.epsilon)}, δ = ${short(answer.delta)}. Upper bounds.`),
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map(([name, success, recognised]) => element("tr", {}, element("th", { scope: "row" }, name), ...[success[place()], recognised[few], recognised[some]].map((value) => element("td", {}, shareUp(value)))))),
  );
  at("sentences").replaceChildren(...answer.sentences.map((sentence) => element("li", {}, sentence)));
}

function showRest() {
  const words = `δ = ${state.delta}, sensitivity ${state.sensitivity}, ${state.domain === "integer" ? "whole" : "real"} numbers. `;
  const link = element("a", { href: `./${location.hash}` }, "Change these");
  at("rest").replaceChildren(words, link);
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part of the address after the # is the setting
  at("results").focus();
});
addEventListener("hashchange", () => {
  Object.assign(state, readAddress(), extras());
  controls.show();
  showPrior();
  showRest();
  changed(0);
});

showPrior();
showRest();
changed(0);
