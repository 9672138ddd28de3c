const NUMBER_OR_WORD = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/

/** The JSON of a cell of a CSV file: the cell itself when it is JSON, else the cell as a JSON text. */
export function readCell(cell: string): string {
  return NUMBER_OR_WORD.test(cell) || (/^["[{]/.test(cell) && isJson(cell)) ? cell : JSON.stringify(cell)
}

/** The cell that `readCell` reads as this JSON. A text keeps its quotes only when it would be read as another value without. */
export function writeCell(json: string): string {
  if (!json.startsWith('"')) return json
  const text = String(JSON.parse(json))
  // An empty cell means no value.
  return text === '' || readCell(text) === text ? json : text
}

/** Whether a text is JSON (RFC 8259), by the parser of JavaScript. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
