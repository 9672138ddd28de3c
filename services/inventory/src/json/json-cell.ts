/** A number as this service writes it, or a word of JSON. Other spellings, such as `12E3`, `007` and `-0`, are texts. */
const NUMBER_OR_WORD = /^(?:-?[1-9]\d*(?:\.\d+)?|0(?:\.\d+)?|-0\.0*[1-9]\d*|true|false|null)$/
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The types that the name of a column may state. */
export const CELL_TYPES = ['text', 'number', 'boolean', 'json'] as const
/** The type of the cells of a column. */
export type CellType = (typeof CELL_TYPES)[number]

/** The JSON of a cell of a CSV file: the cell itself when it is JSON, else the cell as a JSON text. */
export function readCell(cell: string): string {
  return NUMBER_OR_WORD.test(cell) || (/^["[{]/.test(cell) && isJson(cell)) ? cell : JSON.stringify(cell)
}

/** The JSON of a cell whose column states its type; undefined when the cell is not of this type. */
export function readTypedCell(cell: string, type: CellType): string | undefined {
  switch (type) {
    case 'text':
      return JSON.stringify(cell)
    case 'number':
      return JSON_NUMBER.test(cell) ? cell : undefined
    case 'boolean':
      // Spreadsheets write TRUE.
      return /^(?:true|false)$/i.test(cell) ? cell.toLowerCase() : undefined
    case 'json':
      return isJson(cell) ? cell : undefined
  }
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
