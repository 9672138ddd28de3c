import { withoutFormula, writeCsvCell } from '@trestle/common/documents/csv-cell.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { CELL_TYPES, writeCell } from '../json/json-object.ts'
import type { Product } from '../products/product.ts'
import { type AttributePath, findClash, parseAttributePath } from '../products/product-filter.ts'

/** A product with some attributes in columns of their own. */
export interface ExportedProduct extends Product {
  /** JSON of each value that has a column of its own; null for a missing value. */
  readonly flattened: readonly (string | null)[]
  /** JSON of the attributes without these values. */
  readonly rest: string
}

export interface ExportForm {
  readonly header: string
  readonly write: (product: ExportedProduct) => string
}

/** NDJSON: one object a line. As in requests, attributes that are a scalar are a text that holds JSON. */
export const jsonLines: ExportForm = {
  header: '',
  write: ({ id, sku, attributes }) => {
    const value = /^[[{]/.test(attributes) ? attributes : JSON.stringify(attributes)
    return `{"id":${id},"sku":${JSON.stringify(sku)},"attributes":${value}}\n`
  },
}

export interface CsvOptions {
  readonly flatten: readonly AttributePath[]
  /** Whether spreadsheets must not treat a cell as a formula. The file then differs from the data. */
  readonly spreadsheetSafe: boolean
}

/** CSV with a header: id, sku, a column for each path of `flatten`, and the other attributes. */
export function csvForm({ flatten, spreadsheetSafe }: CsvOptions): ExportForm {
  const toCell = spreadsheetSafe ? withoutFormula : (text: string) => text
  const names = flatten.map((path) => `attributes.${path.map(writeKey).join('.')}`)
  // The end of such a name would state a type. Then the name states a type itself, after that end.
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

/** The JSON of an object. Empty when it has no member, because the columns have taken every attribute. */
function emptyWithoutMembers(json: string): string {
  return json === '{}' ? '' : json
}

function writeKey(key: string): string {
  return /^[^."[\]]+$/.test(key) ? key : JSON.stringify(key)
}

function writeRow(cells: readonly string[]): string {
  return `${cells.map(writeCsvCell).join(',')}\r\n`
}

/** An import takes at most 100 columns, and the file also has `id`, `sku` and `attributes`. */
export const PATHS_MAX = 97

/** The paths of the values with columns of their own, or why a file cannot have these columns. */
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
