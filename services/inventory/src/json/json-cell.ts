const NUMBER_OR_WORD = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/

/** The JSON that a cell of a table stands for: the cell itself where it is JSON, else a text of it. */
export function readCell(cell: string): string {
  return NUMBER_OR_WORD.test(cell) || (/^["[{]/.test(cell) && isJson(cell)) ? cell : JSON.stringify(cell)
}

/** The cell that `readCell` reads as this JSON. A text has quotes only where it would be read as something else without them. */
export function writeCell(json: string): string {
  if (!json.startsWith('"')) return json
  const text = String(JSON.parse(json))
  // An empty cell is no value at all.
  return text === '' || readCell(text) === text ? json : text
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
