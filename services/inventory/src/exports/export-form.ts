import { writeCell } from '../json/json-cell.ts'
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
  /** Values that have columns of their own, before the column of JSON with all others. */
  readonly flatten: readonly AttributePath[]
  /** Whether a spreadsheet must not take a cell for a formula; what is imported from it then differs. */
  readonly spreadsheetSafe: boolean
}

/** CSV with a header. */
export function csvForm({ flatten, spreadsheetSafe }: CsvOptions): ExportForm {
  const cell = spreadsheetSafe ? withoutFormula : (text: string) => text
  const columns = flatten.map((path) => `attributes.${path.map(writeKey).join('.')}`)
  return {
    header: writeCsvRow(['id', 'sku', ...columns, 'attributes'].map(cell)),
    write: ({ id, sku, attributes, flattened, rest }) => {
      const values = flattened.map((json) => (json === null ? '' : writeCell(json)))
      // Of attributes that have columns of their own nothing may be left.
      const others = flatten.length > 0 && rest === '{}' ? '' : flatten.length > 0 ? rest : attributes
      return writeCsvRow([String(id), sku, ...values, others].map(cell))
    },
  }
}

/** A key as it is written in a path. */
function writeKey(key: string): string {
  return /^[^."[\]]+$/.test(key) ? key : JSON.stringify(key)
}
