// The form: text fields that keep what was typed, sliders that move along a grid of round numbers.

import { FIELDS, isBatch } from "./state.js";

function decades(first, last, steps) {
  const found = [];
  for (let exponent = first; exponent <= last; exponent += 1) {
    for (const step of steps) found.push(Number(`${step}e${exponent}`));
  }
  return found;
}

const FINE = [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
const upTo = (values, most) => values.filter((value) => value <= most);
const GRIDS = {
  epsilon: upTo(decades(-2, 1, FINE), 20),
  sigma: upTo(decades(-1, 3, FINE), 1000),
  delta: upTo(decades(-12, -2, [1, 2, 5]), 0.01),
  answers: [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000],
  sensitivity: upTo(decades(-2, 3, [1, 2, 5]), 1000),
};

const RATIOS = [0.05, 2000]; // σ in sensitivities, what is designed for
// Whole-number noise takes longer the more lattice points a sensitivity has. Of 15 settings with a sensitivity of 20 three took over
// six seconds, with 100 eight, nearly all of them together; more can be typed.
const MOST_WHOLE = { together: 20, apart: 100 };

/**
 * The stops of a slider: round numbers, which keep the server's cache useful since most have been asked for before, and only those
 * that can be answered beside what the other fields say.
 */
function grid(name, state) {
  const sigma = Number(state.sigma);
  const sensitivity = Number(state.sensitivity);
  const isWithin = (ratio) => !(ratio > 0) || (ratio >= RATIOS[0] && ratio <= RATIOS[1]);
  let stops = GRIDS[name];
  if (name === "answers" && state.asked === "together") stops = upTo(stops, 100);
  if (name === "sensitivity" && state.domain === "integer") stops = upTo(stops, MOST_WHOLE[state.asked] ?? 1).filter((value) => value >= 1);
  if (name === "sigma") stops = stops.filter((value) => isWithin(value / sensitivity));
  if (name === "sensitivity" && state.by === "sigma") stops = stops.filter((value) => isWithin(sigma / value));
  return stops.length ? stops : GRIDS[name];
}

const written = (name, value) => (name === "delta" ? value.toExponential() : String(value));

export class Controls {
  /** `changed(quick)` is called after every change; `quick` for clicks, which need no waiting for more. */
  constructor(form, state, changed) {
    this.form = form;
    this.state = state;
    for (const input of document.querySelectorAll("input[type=text], input[type=radio]")) {
      input.addEventListener("input", () => {
        this.state[input.name] = input.value;
        this.arrange();
        changed(input.type === "radio");
      });
    }
    for (const slider of form.querySelectorAll("[data-slider]")) {
      slider.addEventListener("input", () => {
        const name = slider.dataset.slider;
        this.state[name] = written(name, grid(name, this.state)[Number(slider.value)]);
        form.elements[name].value = this.state[name];
        this.arrange(); // what is within reach of one slider depends on the others
        this.moved = name;
        changed(false);
      });
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    this.show();
  }

  /** Everything from the state into the form. */
  show() {
    for (const input of document.querySelectorAll("input[type=text]")) if (input.name in this.state) input.value = this.state[input.name];
    for (const input of document.querySelectorAll("input[type=radio]")) input.checked = input.value === this.state[input.name];
    this.arrange();
  }

  /** Which fields are seen, and where the sliders stand. */
  arrange() {
    const isLength = this.state.changes === "euclidean";
    const isSeen = {
      epsilon: this.state.by === "epsilon",
      sigma: this.state.by === "sigma",
      advantage: this.state.by === "epsilon",
      changes: isBatch(this.state),
      touched: isBatch(this.state) && !isLength,
      length: isBatch(this.state) && isLength,
    };
    for (const [name, seen] of Object.entries(isSeen)) {
      const field = this.form.querySelector(`[data-field=${name}]`);
      if (field) field.hidden = !seen;
    }
    const more = document.getElementById("more-said");
    if (more) more.textContent = `δ = ${this.state.delta}, sensitivity ${this.state.sensitivity}, ${this.state.domain === "integer" ? "whole" : "real"} numbers`;
    for (const slider of this.form.querySelectorAll("[data-slider]")) {
      const name = slider.dataset.slider;
      const values = grid(name, this.state);
      slider.min = 0;
      slider.max = values.length - 1;
      slider.step = 1;
      const wanted = Math.log(Number(this.state[name]));
      if (Number.isFinite(wanted)) {
        const distance = values.map((value) => Math.abs(Math.log(value) - wanted));
        slider.value = distance.indexOf(Math.min(...distance));
      }
      slider.setAttribute("aria-valuetext", this.state[name]);
    }
  }

  /** The settings one step to either side of where the slider that was last moved stands. */
  neighbours() {
    const name = this.moved ?? this.state.by;
    const values = grid(name, this.state);
    const place = Number(this.form.querySelector(`[data-slider=${name}]`).value);
    return [place + 1, place - 1]
      .filter((index) => index >= 0 && index < values.length)
      .map((index) => ({ ...this.state, [name]: written(name, values[index]) }));
  }

  /** A sentence beside each field that is wrong; nothing that was typed is touched. */
  showErrors(errors) {
    for (const name of FIELDS) {
      const place = document.getElementById(`${name}-error`);
      if (!place) continue;
      const sentence = errors[name] ?? "";
      if (sentence && place.closest("details")) place.closest("details").open = true;
      place.textContent = sentence;
      place.hidden = !sentence;
      const input = this.form.querySelector(`input[type=text][name=${name}]`);
      if (!input) continue;
      if (sentence) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  }
}
