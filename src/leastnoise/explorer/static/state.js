// The whole state of the page is in the address, after the #: it can be sent to a colleague and never reaches a server's log.

export const FIELDS = ["by", "epsilon", "sigma", "delta", "answers", "asked", "sensitivity", "domain", "changes", "touched", "length", "advantage"];
export const START = {
  by: "epsilon", epsilon: "1", sigma: "8", delta: "1e-6", answers: "10", asked: "together", sensitivity: "1", domain: "integer", changes: "box",
  touched: "", length: "1", advantage: "",
  value: "1204", unit: "patients", scale: "linear", chart: "law", laws: "few", a: "", b: "",
};
const OTHERS = { prior: "0.5", seed: "" }; // of the attacker's view alone
const LONGEST = 120;

export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const state = { ...START };
  for (const name of Object.keys(START)) {
    if (given.has(name)) state[name] = given.get(name).slice(0, LONGEST);
  }
  return state;
}

/** `isNew`: Back comes back to what the address says now. */
export function writeAddress(state, isNew = false) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== (START[name] ?? OTHERS[name])) given.set(name, value);
  }
  const hash = given.toString();
  const address = hash ? `#${hash}` : location.pathname;
  if (isNew) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** Whether several answers are asked together: only then does it matter which way one person moves them. */
export const isBatch = (fields) => fields.asked === "together" && Number(fields.answers) !== 1;

/** The fields of a setting as the server takes them: the one of ε and σ that is not fixed is left out. */
export function query(state) {
  const unused = state.by === "sigma" ? "epsilon" : "sigma";
  return new URLSearchParams(FIELDS.filter((name) => name !== unused).map((name) => [name, state[name].slice(0, 60)])).toString();
}

/** A setting in one word, for the address of a comparison. */
export function pinned(state) {
  return FIELDS.map((name) => state[name].trim()).join("~");
}

/** The inverse; addresses of earlier versions do not say what one person can change, or not all of it. */
export function unpinned(word) {
  const values = word.split("~");
  if (values.length < FIELDS.indexOf("changes") || values.length > FIELDS.length) return null;
  for (const name of FIELDS.slice(values.length)) values.push(START[name]);
  return Object.fromEntries(FIELDS.map((name, index) => [name, values[index]]));
}

/** How many answers one person can change, "" for all of them; a length says nothing of it. */
function touched(fields) {
  const said = String(fields.touched ?? "").trim();
  return fields.changes === "euclidean" || said === "" || Number(said) >= Number(fields.answers) ? "" : String(Number(said));
}

/** Whether both let one person change the same; one answer by itself moves up or down. */
function isSameSpace(setting, wanted) {
  if (!isBatch(wanted)) return true;
  const isSameLength = wanted.changes !== "euclidean" || Number(setting.length) === Number(wanted.length);
  return setting.changes === wanted.changes && touched(setting) === touched(wanted) && isSameLength;
}

/** Whether both cap the attacker's advantage alike; beside a fixed σ there is no cap. */
function isSameCap(setting, wanted) {
  const said = wanted.by === "sigma" ? "" : String(wanted.advantage ?? "").trim();
  return said === "" ? setting.advantage === undefined : Number(setting.advantage) === Number(said);
}

/** Whether `setting`, as an answer carries it, is the one that `asked`, a query, asks for. */
export function isSetting(setting, asked) {
  if (!setting) return false;
  const wanted = Object.fromEntries(new URLSearchParams(asked));
  const isSame = (name) => setting[name] !== undefined && Number(setting[name]) === Number(wanted[name]);
  return (
    setting.by === wanted.by &&
    setting.domain === wanted.domain &&
    (setting.asked === wanted.asked || Number(wanted.answers) === 1) && // one answer is together and apart
    isSameSpace(setting, wanted) &&
    isSameCap(setting, wanted) &&
    [wanted.by, "delta", "answers", "sensitivity"].every(isSame)
  );
}
