import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import {
  attributesColumnMissing,
  columnsUnknown,
  columnTwice,
  headerBroken,
  RECORD_TEXTS,
  skuColumnMissing,
  tooManyColumns,
  type UnknownColumn,
} from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { CELL_TYPES, type CellType, isJson, memberTexts, readCell, readTypedCell } from '../json/json-object.ts'
import { type AttributePath, findClash, parseAttributePath } from '../products/product-filter.ts'
import type { CsvRecord } from './csv-reader.ts'
import { brokenRecord, type RawProduct, type RecordProblem } from './import-record.ts'

/** A column without a name (`nameless`) must contain no values. */
type Column = 'id' | 'sku' | 'attributes' | 'nameless' | AttributeColumn

/** A column with a value inside the attributes. The column's name or the form of a cell determines the type. */
interface AttributeColumn {
  readonly path: AttributePath
  readonly type: CellType | undefined
}

const NAMED_COLUMNS = ['id', 'sku', 'attributes'] as const
const COLUMNS_MAX = 100
/** Column names that suggest quantities of stock. */
const STOCK_COLUMN = /^ *(?:stock|quantity|qty|on[ _-]?hand|available|inventory)(?:[ _-]?(?:level|quantity|qty))? *$/i
/** The number of characters of a name that an error repeats. */
const NAME_MAX = 64
const ATTRIBUTE_PREFIX = 'attributes.'
/** A type at the end of a name. Any other suffix belongs to the name. */
const TYPED = /^(.*):(text|number|boolean|json)$/s

/** Reads a record of a file whose header is known. */
export type RecordReader = (record: CsvRecord) => RawProduct | RecordProblem

/**
 * Reads the header of a file (reference: CSV files).
 * @param attributesBytesMax the limit of a product's attributes. Longer cells are not parsed.
 * @throws headerBroken, tooManyColumns, columnsUnknown, columnTwice, skuColumnMissing, attributesColumnMissing
 */
export function readCsvHeader({ fields, isWellFormed }: CsvRecord, attributesBytesMax: number): RecordReader {
  if (!isWellFormed) throw headerBroken()
  if (fields.length > COLUMNS_MAX) throw tooManyColumns({ columnsMax: COLUMNS_MAX })
  const columns = fields.flatMap((name) => readColumn(name) ?? [])
  const unknown = fields.filter((name) => readColumn(name) === undefined).map(describeUnknown)
  if (unknown.length > 0) throw columnsUnknown({ unknown })
  const paths = columns.flatMap((column) => (typeof column === 'string' ? [] : [column.path]))
  const twice = NAMED_COLUMNS.find((name) => columns.indexOf(name) !== columns.lastIndexOf(name))
  const clash = twice ?? findClash(paths)?.join('.')
  if (clash !== undefined) throw columnTwice({ column: clash })
  if (!columns.includes('sku')) throw skuColumnMissing()
  if (!columns.includes('attributes') && paths.length === 0) throw attributesColumnMissing()
  return (record) => readRecord(columns, record, attributesBytesMax)
}

/** Returns `undefined` if the name is unknown. */
function readColumn(name: string): Column | undefined {
  if (name === 'id' || name === 'sku' || name === 'attributes') return name
  if (name === 'sku:text') return 'sku'
  if (name === 'attributes:json') return 'attributes'
  if (name.trim() === '') return 'nameless'
  if (!name.startsWith(ATTRIBUTE_PREFIX)) return undefined
  const [, untyped = name, type] = TYPED.exec(name) ?? []
  const path = parseAttributePath(untyped.slice(ATTRIBUTE_PREFIX.length))
  return path && { path, type: CELL_TYPES.find((each) => each === type) }
}

function describeUnknown(name: string): UnknownColumn {
  const column = name.slice(0, NAME_MAX)
  const stock = STOCK_COLUMN.test(column)
  return { column, suggestion: stock ? undefined : findSuggestion(name), stock }
}

/** Returns the column that a wrong name may mean: a known column in other case or with a missing `s`, or an attribute. */
function findSuggestion(name: string): string | undefined {
  const given = name.trim()
  const known = NAMED_COLUMNS.find((column) => column === given.toLowerCase() || column === `${given.toLowerCase()}s`)
  if (known !== undefined) return known
  const key = given.replace(/^attributes?\./i, '')
  if (/^sep=/i.test(given)) return undefined
  return given.length > NAME_MAX || parseAttributePath(key) === undefined ? undefined : ATTRIBUTE_PREFIX + key
}

function readRecord(
  columns: readonly Column[],
  record: CsvRecord,
  attributesBytesMax: number,
): RawProduct | RecordProblem {
  const { line, fields } = record
  const broken = findBreak(columns, record)
  if (broken !== undefined) return brokenLines(record, broken)
  const cell = (name: Column): string | undefined => fields[columns.indexOf(name)]
  const [sku, base] = [cell('sku'), cell('attributes')]
  const values = columns.flatMap((column, at) => {
    const value = fields[at] ?? ''
    // An empty cell means no value.
    return typeof column === 'string' || value === '' ? [] : [{ ...column, value }]
  })
  if (values.length === 0 && base !== undefined && (base !== '' || columns.every((name) => typeof name === 'string'))) {
    return { line, sku, attributes: base }
  }
  const cells = values.map(({ value }) => value).join('')
  if (Math.max(Buffer.byteLength(base ?? ''), Buffer.byteLength(cells)) > attributesBytesMax) {
    // `judgeProduct` refuses these attributes because of their size. Parsing a mebibyte of cells first would take long.
    return { line, sku, attributes: (base ?? '') + cells }
  }
  if (base !== undefined && base !== '' && !isJson(base)) return { line, sku, attributes: base }
  const members = openMembers(base === '' ? undefined : base)
  for (const { path, type, value } of values) {
    const json = type === undefined ? readCell(value) : readTypedCell(value, type)
    if (json !== undefined && members !== undefined && setMember(members, path, json)) continue
    const problem = json === undefined ? MISFITS[type ?? 'json'] : RECORD_TEXTS.leadsThroughScalar
    const description = RECORD_TEXTS.member(`attributes.${path.join('.').slice(0, 64)}`, problem)
    return { line, sku: sku?.slice(0, 255) ?? null, type: 'VALIDATION_ERROR', description }
  }
  return { line, sku, attributes: writeMembers(members ?? new Map()) }
}

/** The problem of a cell that does not match the type of its column. */
const MISFITS: Readonly<Record<CellType, string>> = {
  text: FIELD_TEXTS.notString,
  number: VALUE_TEXTS.notNumber,
  boolean: VALUE_TEXTS.notBoolean,
  json: FIELD_TEXTS.notJson,
}

/** Returns why a record cannot be read, or `undefined`. Empty cells may follow the last column. */
function findBreak(columns: readonly Column[], { fields, isWellFormed }: CsvRecord): string | undefined {
  if (!isWellFormed) return RECORD_TEXTS.quotes
  if (fields.length < columns.length || fields.slice(columns.length).some((field) => field !== '')) {
    return RECORD_TEXTS.wrongFields({ fields: fields.length, columns: columns.length })
  }
  const nameless = columns.findIndex((column, at) => column === 'nameless' && fields[at]?.trim() !== '')
  return nameless === -1 ? undefined : RECORD_TEXTS.namelessValue({ place: nameless + 1 })
}

/** Reports a broken record. An open quote may have included other records, so each of its lines counts. */
function brokenLines({ line, quoteLine, lastLine }: CsvRecord, text: string): RecordProblem {
  if (lastLine === line) return brokenRecord(line, text)
  const broken = brokenRecord(line, `${text} ${RECORD_TEXTS.openQuote({ quoteLine, lastLine })}`)
  return { ...broken, lines: lastLine - line + 1 }
}

/** The members of an object. A value is JSON text, or an object that was parsed in order to set a member. */
type Members = Map<string, string | Members>

/** Returns `false` if a value along the path is not an object. */
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

/** The members of an object. Empty for a missing value, `undefined` for any other value. */
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
