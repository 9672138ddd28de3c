import {
  attributesColumnMissing,
  columnsNotSplit,
  columnTwice,
  columnUnknown,
  headerBroken,
  RECORD_TEXTS,
  skuColumnMissing,
  stockColumn,
  tooManyColumns,
} from '../import-errors.ts'
import { isJson, readCell } from '../json/json-cell.ts'
import { memberTexts } from '../json/nested-text.ts'
import { type AttributePath, findClash, parseAttributePath } from '../products/attribute-path.ts'
import type { CsvRecord } from './csv-reader.ts'
import { brokenRecord, type RawProduct, type RecordProblem } from './import-record.ts'

/** The meaning of a column. */
type Column = 'id' | 'sku' | 'attributes' | AttributePath

const NAMED_COLUMNS = ['id', 'sku', 'attributes'] as const
const COLUMNS_MAX = 100
/** The separators that spreadsheets write in place of commas. */
const SEPARATORS = [
  { character: ';', name: 'semicolons' },
  { character: '\t', name: 'tabs' },
] as const
/** Columns with which a shop would fill its stock. */
const STOCK_COLUMN = /^ *(?:stock|quantity|qty|on[ _-]?hand|available|inventory)(?:[ _-]?(?:level|quantity|qty))? *$/i
/** How much of a name an error repeats. */
const NAME_MAX = 64
const ATTRIBUTE_PREFIX = 'attributes.'

/** Reads the records of a file, whose header is known. */
export type RecordReader = (record: CsvRecord) => RawProduct | RecordProblem

/**
 * Reads the header of a file (reference: CSV files).
 * @param attributesBytesMax limit of a product's attributes; longer cells are not parsed
 * @throws headerBroken, tooManyColumns, columnsNotSplit, stockColumn, columnUnknown, columnTwice, skuColumnMissing,
 * attributesColumnMissing
 */
export function readCsvHeader({ fields, isWellFormed }: CsvRecord, attributesBytesMax: number): RecordReader {
  if (!isWellFormed) throw headerBroken()
  if (fields.length > COLUMNS_MAX) throw tooManyColumns({ columnsMax: COLUMNS_MAX })
  const separator = fields.length === 1 ? SEPARATORS.find(({ character }) => fields[0]?.includes(character)) : undefined
  if (separator) throw columnsNotSplit({ separator: separator.name })
  const columns = fields.map(readColumn)
  const paths = columns.filter((column) => typeof column !== 'string')
  const clash = fields.find((name, at) => fields.indexOf(name) !== at) ?? findClash(paths)?.join('.')
  if (clash !== undefined) throw columnTwice({ column: clash })
  if (!columns.includes('sku')) throw skuColumnMissing()
  if (!columns.includes('attributes') && paths.length === 0) throw attributesColumnMissing()
  return (record) => readRecord(columns, record, attributesBytesMax)
}

function readColumn(name: string): Column {
  if (name === 'id' || name === 'sku' || name === 'attributes') return name
  const path = name.startsWith(ATTRIBUTE_PREFIX) ? parseAttributePath(name.slice(ATTRIBUTE_PREFIX.length)) : undefined
  const column = name.slice(0, NAME_MAX)
  if (path === undefined && STOCK_COLUMN.test(column)) throw stockColumn({ column })
  if (path === undefined) throw columnUnknown({ column, meant: findMeant(name) })
  return path
}

/** The column that a wrong name may mean: a known one in other letters or without its last `s`, or an attribute of this name. */
function findMeant(name: string): string | undefined {
  const given = name.trim()
  const known = NAMED_COLUMNS.find((column) => column === given.toLowerCase() || column === `${given.toLowerCase()}s`)
  if (known !== undefined) return known
  const key = given.replace(/^attributes?\./i, '')
  return given.length > NAME_MAX || parseAttributePath(key) === undefined ? undefined : ATTRIBUTE_PREFIX + key
}

function readRecord(
  columns: readonly Column[],
  { line, fields, isWellFormed }: CsvRecord,
  attributesBytesMax: number,
): RawProduct | RecordProblem {
  if (!isWellFormed) return brokenRecord(line, RECORD_TEXTS.quotes)
  if (fields.length !== columns.length) {
    return brokenRecord(line, RECORD_TEXTS.wrongFields({ fields: fields.length, columns: columns.length }))
  }
  const cell = (name: Column): string | undefined => fields[columns.indexOf(name)]
  const [sku, base] = [cell('sku'), cell('attributes')]
  const values = columns.flatMap((path, at) => {
    const value = fields[at] ?? ''
    // An empty cell is no value.
    return typeof path === 'string' || value === '' ? [] : [{ path, value }]
  })
  if (values.length === 0 && base !== undefined && (base !== '' || columns.every((name) => typeof name === 'string'))) {
    return { line, sku, attributes: base }
  }
  const cells = values.map(({ value }) => value).join('')
  if (Math.max(Buffer.byteLength(base ?? ''), Buffer.byteLength(cells)) > attributesBytesMax) {
    // `judgeProduct` refuses these attributes for their size. Parsing a mebibyte of cells first would take long.
    return { line, sku, attributes: (base ?? '') + cells }
  }
  if (base !== undefined && base !== '' && !isJson(base)) return { line, sku, attributes: base }
  const members = openMembers(base === '' ? undefined : base)
  const misfit = values.find(({ path, value }) => members === undefined || !setMember(members, path, readCell(value)))
  if (members !== undefined && misfit === undefined) return { line, sku, attributes: writeMembers(members) }
  const path = `attributes.${misfit?.path.join('.').slice(0, 64)}`
  const description = RECORD_TEXTS.member(path, RECORD_TEXTS.leadsThroughScalar)
  return { line, sku: sku?.slice(0, 255) ?? null, type: 'VALIDATION_ERROR', description }
}

/** The members of an object by their keys. A value is JSON text, or an object that was opened to set a member. */
type Members = Map<string, string | Members>

/** Sets the value at a path. Returns false when a value on the way is not an object. */
function setMember(members: Members, [key = '', ...rest]: AttributePath, value: string): boolean {
  if (rest.length === 0) {
    members.set(key, value)
    return true
  }
  const branch = openMembers(members.get(key))
  if (branch === undefined) return false
  members.set(key, branch)
  return setMember(branch, rest, value)
}

/** The members of an object; none for a missing value, undefined for a value that is not an object. */
function openMembers(value: string | Members | undefined): Members | undefined {
  if (typeof value !== 'string') return value ?? new Map()
  return value.trimStart().startsWith('{') ? memberTexts(value) : undefined
}

function writeMembers(members: Members): string {
  const texts = [...members].map(([key, value]) => {
    return `${JSON.stringify(key)}:${typeof value === 'string' ? value : writeMembers(value)}`
  })
  return `{${texts.join(',')}}`
}
