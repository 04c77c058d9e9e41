// COLOURS, or none. The only place that writes escape codes.

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const;

export type Colour = keyof typeof codes;

/** Paints a text in colours, the first one innermost. */
export type Paint = (text: string, ...colours: readonly Colour[]) => string;

export function painter(colours: boolean): Paint {
  if (!colours) return (text) => text;
  return (text, ...wanted) =>
    wanted.reduce((painted, colour) => `\u001b[${codes[colour][0]}m${painted}\u001b[${codes[colour][1]}m`, text);
}
