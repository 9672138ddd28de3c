import { badRequest, payloadTooLarge } from '../errors.ts'
import { type AttributePath, parseAttributePath } from '../products/attribute-path.ts'
import type { CsvRecord } from './csv-reader.ts'
import { brokenRecord, type RawProduct, type RecordFault } from './import-record.ts'

/** What a column of a file is. */
type Column = 'id' | 'sku' | 'attributes' | AttributePath

const COLUMNS_MAX = 100
const ATTRIBUTE_PREFIX = 'attributes.'

/** Reads the records of a file by its header. */
export type RecordReader = (record: CsvRecord) => RawProduct | RecordFault

/**
 * Reads the header: `sku`, and `attributes` or columns `attributes.PATH`; `id` means nothing.
 * @throws badRequest for other columns, for one that is there twice or missing, payloadTooLarge for more than 100
 */
export function readCsvHeader({ fields, isWellFormed }: CsvRecord): RecordReader {
  if (!isWellFormed) throw badRequest({ message: 'The header of the file has quotes that are not in order.' })
  if (fields.length > COLUMNS_MAX) throw payloadTooLarge({ message: `The file has more than ${COLUMNS_MAX} columns.` })
  const columns = fields.map(readColumn)
  const paths = columns.filter((column) => typeof column !== 'string')
  const clash = fields.find((name, at) => fields.indexOf(name) !== at) ?? findClash(paths)
  if (clash !== undefined) throw badRequest({ message: `The column ${clash} is there twice.` })
  if (!columns.includes('sku')) throw badRequest({ message: 'The file has no column sku.' })
  if (columns.includes('attributes') === paths.length > 0) {
    throw badRequest({ message: 'The file must have either a column attributes or columns such as attributes.color.' })
  }
  return (record) => readRecord(columns, record)
}

function readColumn(name: string): Column {
  if (name === 'id' || name === 'sku' || name === 'attributes') return name
  const path = name.startsWith(ATTRIBUTE_PREFIX) ? parseAttributePath(name.slice(ATTRIBUTE_PREFIX.length)) : undefined
  if (path === undefined) throw badRequest({ message: `The column ${name.slice(0, 64)} is not known.` })
  return path
}

/** A path that is another one too, or leads through it: both cannot have a value. */
function findClash(paths: readonly AttributePath[]): string | undefined {
  return paths
    .find((path, at) => paths.some((other, i) => i !== at && path.every((key, depth) => key === other[depth])))
    ?.join('.')
}

function readRecord(columns: readonly Column[], { line, fields, isWellFormed }: CsvRecord): RawProduct | RecordFault {
  if (!isWellFormed) return brokenRecord(line, 'The record has quotes that are not in order.')
  if (fields.length !== columns.length) {
    return brokenRecord(line, `The record has ${fields.length} fields, the header has ${columns.length}.`)
  }
  const cell = (name: Column): string | undefined => fields[columns.indexOf(name)]
  const attributes = columns.includes('attributes') ? cell('attributes') : composeAttributes(columns, fields)
  return { line, sku: cell('sku'), attributes }
}

/** Keys to further keys, or to JSON. */
type Tree = Map<string, Tree | string>

/** The JSON of the cells below their paths; an empty cell is no value. */
function composeAttributes(columns: readonly Column[], fields: readonly string[]): string {
  const root: Tree = new Map()
  for (const [at, column] of columns.entries()) {
    const cell = fields[at]
    if (typeof column !== 'string' && cell !== undefined && cell !== '') plant(root, column, toJson(cell))
  }
  return writeTree(root)
}

function plant(tree: Tree, [key = '', ...rest]: AttributePath, json: string): void {
  if (rest.length === 0) {
    tree.set(key, json)
    return
  }
  const known = tree.get(key)
  const branch: Tree = known instanceof Map ? known : new Map()
  tree.set(key, branch)
  plant(branch, rest, json)
}

function writeTree(tree: Tree): string {
  const members = [...tree].map(
    ([key, value]) => `${JSON.stringify(key)}:${value instanceof Map ? writeTree(value) : value}`,
  )
  return `{${members.join(',')}}`
}

/** A cell as the JSON scalar that it reads as, else as text. */
function toJson(cell: string): string {
  return /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/.test(cell) ? cell : JSON.stringify(cell)
}
