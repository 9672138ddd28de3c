import { CsvReader } from './csv-reader.ts'

/** The separators that spreadsheets write, the most usual first. */
const SEPARATORS = [',', ';', '\t', '|']

/**
 * The separator that a line of Excel such as `sep=;` names. Cells behind it show the one of a file that was saved again.
 * Undefined for any other line.
 */
export function readSeparatorLine(line: string): string | undefined {
  // A client sends this text: no blank may belong to two repetitions, or a long line takes minutes.
  const [start] = /^ *(?:" *)?sep=/i.exec(line) ?? []
  if (start === undefined) return undefined
  const named = line.slice(start.length).replace(/^ +(?=[^ "])/, '')
  const [, cells] = /^[^"](?: *")?([ ,;\t|]*)$/.exec(named) ?? []
  return cells === undefined ? undefined : (cells.replaceAll(' ', '').at(-1) ?? named[0])
}

/** The separator by which the header has a column `sku`, else the one that makes the most columns. */
export function findSeparator(text: string): string {
  const judged = SEPARATORS.map((separator) => {
    const reader = new CsvReader(separator)
    const { fields = [] } = [...reader.push(text), ...reader.end()][0] ?? {}
    return {
      separator,
      score: fields.length + (fields.some((name) => /^ *sku(?::text)? *$/i.test(name)) ? 1_000_000 : 0),
    }
  })
  return judged.reduce((best, each) => (each.score > best.score ? each : best)).separator
}
