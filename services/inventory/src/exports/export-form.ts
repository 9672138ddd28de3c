import { withoutFormula, writeCsvCell } from '@trestle/common/documents/csv-cell.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { CELL_TYPES, writeCell } from '../json/json-object.ts'
import type { Product } from '../products/product.ts'
import { type AttributePath, findClash, parseAttributePath } from '../products/product-filter.ts'

/** A product, with some of its attributes in separate columns. */
export interface ExportedProduct extends Product {
  /** The JSON of each value in a separate column. `null` for a missing value. */
  readonly flattened: readonly (string | null)[]
  /** The JSON of the other attributes. */
  readonly rest: string
}

export interface ExportForm {
  readonly header: string
  readonly write: (product: ExportedProduct) => string
}

/** NDJSON: one object per line. Attributes that are a scalar are a string that contains JSON, as in requests. */
export const jsonLines: ExportForm = {
  header: '',
  write: ({ id, sku, attributes }) => {
    const value = /^[[{]/.test(attributes) ? attributes : JSON.stringify(attributes)
    return `{"id":${id},"sku":${JSON.stringify(sku)},"attributes":${value}}\n`
  },
}

export interface CsvOptions {
  readonly flatten: readonly AttributePath[]
  /** Whether to prevent spreadsheets from treating a cell as a formula. Such cells differ from the data. */
  readonly spreadsheetSafe: boolean
}

/** CSV with a header: `id`, `sku`, a column for each path of `flatten`, and the other attributes. */
export function csvForm({ flatten, spreadsheetSafe }: CsvOptions): ExportForm {
  const toCell = spreadsheetSafe ? withoutFormula : (text: string) => text
  const names = flatten.map((path) => `attributes.${path.map(writeKey).join('.')}`)
  // The end of such a name looks like a type. So append an explicit type to the name.
  const isTyped = names.map((name) => CELL_TYPES.some((type) => name.endsWith(`:${type}`)))
  const columns = names.map((name, at) => (isTyped[at] ? `${name}:json` : name))
  return {
    header: writeRow(['id', 'sku', ...columns, 'attributes'].map(toCell)),
    write: ({ id, sku, attributes, flattened, rest }) => {
      const values = flattened.map((json, at) => (json === null ? '' : isTyped[at] ? json : writeCell(json)))
      const others = flatten.length === 0 ? attributes : emptyWithoutMembers(rest)
      return writeRow([String(id), sku, ...values, others].map(toCell))
    },
  }
}

/** Returns the JSON of an object, or an empty string if the columns contain all its attributes. */
function emptyWithoutMembers(json: string): string {
  return json === '{}' ? '' : json
}

function writeKey(key: string): string {
  return /^[^."[\]]+$/.test(key) ? key : JSON.stringify(key)
}

function writeRow(cells: readonly string[]): string {
  return `${cells.map(writeCsvCell).join(',')}\r\n`
}

/** An import accepts at most 100 columns. The file also contains `id`, `sku` and `attributes`. */
export const PATHS_MAX = 97

/** The paths of values in separate columns, or why a file cannot have these columns. */
export type ReadPaths =
  | { readonly verdict: 'accepted'; readonly paths: readonly AttributePath[] }
  | { readonly verdict: 'refused'; readonly problem: string }

export function readColumnPaths(texts: readonly string[]): ReadPaths {
  if (texts.length > PATHS_MAX) return { verdict: 'refused', problem: FIELD_TEXTS.tooManyPaths({ max: PATHS_MAX }) }
  const paths = texts.map(parseAttributePath).filter((path) => path !== undefined)
  if (paths.length < texts.length) return { verdict: 'refused', problem: FIELD_TEXTS.notPaths }
  const clash = findClash(paths)
  return clash === undefined ? { verdict: 'accepted', paths } : { verdict: 'refused', problem: FIELD_TEXTS.pathsClash }
}
