import type { AttributePath } from '../products/attribute-path.ts'
import { withoutFormula, writeCsvRow } from './csv-row.ts'
import type { ExportedProduct } from './export-repository.ts'

/** How products are written into a file. */
export interface ExportForm {
  readonly header: string
  readonly write: (product: ExportedProduct) => string
}

/** One JSON object a line. A scalar is a text that holds it, as where a product is created. */
export const jsonLines: ExportForm = {
  header: '',
  write: ({ id, sku, attributes }) => {
    const value = /^[[{]/.test(attributes) ? attributes : JSON.stringify(attributes)
    return `{"id":${id},"sku":${JSON.stringify(sku)},"attributes":${value}}\n`
  },
}

export interface CsvOptions {
  /** Values that have columns of their own, instead of one column of JSON. */
  readonly flatten: readonly AttributePath[]
  /** Whether a spreadsheet must not take a cell for a formula; what is imported from it then differs. */
  readonly spreadsheetSafe: boolean
}

/** CSV with a header. */
export function csvForm({ flatten, spreadsheetSafe }: CsvOptions): ExportForm {
  const cell = spreadsheetSafe ? withoutFormula : (text: string) => text
  const columns =
    flatten.length === 0 ? ['attributes'] : flatten.map((path) => `attributes.${path.map(writeKey).join('.')}`)
  return {
    header: writeCsvRow(['id', 'sku', ...columns].map(cell)),
    write: ({ id, sku, attributes, flattened }) => {
      const values = flatten.length === 0 ? [attributes] : flattened.map((json) => textOf(json))
      return writeCsvRow([String(id), sku, ...values].map(cell))
    },
  }
}

/** A key as it is written in a path. */
function writeKey(key: string): string {
  return /^[^."[\]]+$/.test(key) ? key : JSON.stringify(key)
}

/** A value as text, without the quotes that JSON has around it. */
function textOf(json: string | null): string {
  if (json === null) return ''
  return json.startsWith('"') ? String(JSON.parse(json)) : json
}
