// WHICH SAGAS ARE EXPLORED, in the notation of `shapes`.

/** No step, each of `marks`, each pair of them. */
function upToTwo(marks: readonly string[]): readonly string[] {
  return ["", ...marks, ...marks.flatMap((first) => marks.map((second) => `${first} ${second}`))];
}

const before = upToTwo(["c", "c?", "ct", "cn"]);
const after = upToTwo(["r", "r?", "rt"]);

/** Every saga of up to two compensatable steps, with what follows them: nothing, or `pivot` and up to two retriable ones. */
export function everySaga(pivot: "none" | "P" | "P?" | "Pt"): readonly string[] {
  const endings = pivot === "none" ? [""] : after.map((steps) => `${pivot} ${steps}`.trim());
  return before.flatMap((steps) => endings.map((ending) => `${steps} ${ending}`.trim())).filter((saga) => saga !== "");
}

/** Sagas of plain steps: up to two of them, then nothing, or the pivot and up to two more. */
export const plainSagas = ["c", "c c", "P", "P r", "P r r", "c P", "c P r", "c P r r", "c c P", "c c P r", "c c P r r"];

/** Sagas in which steps of several kinds meet. */
export const mixedSagas = [
  "c? c?",
  "c? c",
  "c c?",
  "ct c",
  "c ct",
  "cn c",
  "c cn",
  "cn? c?",
  "P?",
  "Pt",
  "P? r?",
  "P rt r",
  "Pt rt",
  "c P?",
  "c? P r",
  "c? P? r?",
  "ct Pt rt",
  "ct P? r",
  "c Pt r",
  "cn P? r",
  "c c? Pt",
  "c ct P?",
];

/** Sagas whose steps may never begin twice (`1`), or are tried without limit (`*`). */
export const budgetedSagas = [
  "c1",
  "c1 c",
  "c1? c1",
  "P1",
  "P1?",
  "c P1 r1",
  "c*",
  "P*",
  "P*?",
  "P* r*",
  "c* P*?",
  "ct1",
  "Pt1",
  "Pt*",
];
