// TEXT FOR A TERMINAL: nothing in it that would move the cursor, cut at whole characters, in columns.

/** Control characters and those that turn the direction of writing: what a journal holds must not steer a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const steering = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** `text` with what would steer the terminal replaced. Line feeds stay. */
export function printable(text: string): string {
  return text.replace(steering, "\ufffd");
}

/** {@link printable}, on one line. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, " ").trim());
}

/** At most `width` characters, the mark of the cut included. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  return width < 1 ? "" : `${characters.slice(0, width - 1).join("")}…`;
}

/** The cells of a table, padded so that columns align; the last one of a row is not. Join them with {@link gap}. */
export function aligned(rows: readonly (readonly string[])[]): string[][] {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, [...cell].length);
    });
  return rows.map((row) => row.map((cell, column) => pad(cell, column < row.length - 1 ? widths[column]! : 0)));
}

/** Between two columns. */
export const gap = "  ";

function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - [...text].length));
}

export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - [...text].length)) + text;
}
