import { badRequest, payloadTooLarge } from '../errors.ts'
import { isJson, readCell } from '../json/json-cell.ts'
import { memberTexts } from '../json/nested-text.ts'
import { type AttributePath, findClash, parseAttributePath } from '../products/attribute-path.ts'
import type { CsvRecord } from './csv-reader.ts'
import { brokenRecord, type RawProduct, type RecordFault } from './import-record.ts'

/** What a column of a file is. */
type Column = 'id' | 'sku' | 'attributes' | AttributePath

const COLUMNS_MAX = 100
const ATTRIBUTE_PREFIX = 'attributes.'

/** Reads the records of a file by its header. */
export type RecordReader = (record: CsvRecord) => RawProduct | RecordFault

/**
 * Reads the header: `sku`, and `attributes`, columns `attributes.PATH`, or both (reference: CSV files). `id` is ignored.
 * @param attributesBytesMax bound of a product's attributes; cells beyond it are not parsed
 * @throws badRequest for other columns, for one that is there twice or missing, payloadTooLarge for more than 100
 */
export function readCsvHeader({ fields, isWellFormed }: CsvRecord, attributesBytesMax: number): RecordReader {
  if (!isWellFormed) throw badRequest({ message: 'The header of the file has quotes that are not in order.' })
  if (fields.length > COLUMNS_MAX) throw payloadTooLarge({ message: `The file has more than ${COLUMNS_MAX} columns.` })
  const columns = fields.map(readColumn)
  const paths = columns.filter((column) => typeof column !== 'string')
  const clash = fields.find((name, at) => fields.indexOf(name) !== at) ?? findClash(paths)?.join('.')
  if (clash !== undefined) throw badRequest({ message: `The column ${clash} is there twice.` })
  if (!columns.includes('sku')) throw badRequest({ message: 'The file has no column sku.' })
  if (!columns.includes('attributes') && paths.length === 0) {
    throw badRequest({ message: 'The file must have a column attributes, or columns such as attributes.color.' })
  }
  return (record) => readRecord(columns, record, attributesBytesMax)
}

function readColumn(name: string): Column {
  if (name === 'id' || name === 'sku' || name === 'attributes') return name
  const path = name.startsWith(ATTRIBUTE_PREFIX) ? parseAttributePath(name.slice(ATTRIBUTE_PREFIX.length)) : undefined
  if (path === undefined) throw badRequest({ message: `The column ${name.slice(0, 64)} is not known.` })
  return path
}

function readRecord(
  columns: readonly Column[],
  { line, fields, isWellFormed }: CsvRecord,
  attributesBytesMax: number,
): RawProduct | RecordFault {
  if (!isWellFormed) return brokenRecord(line, 'The record has quotes that are not in order.')
  if (fields.length !== columns.length) {
    return brokenRecord(line, `The record has ${fields.length} fields, the header has ${columns.length}.`)
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
    // Refused for its size by whoever judges it: parsing a mebibyte of cells first would take long.
    return { line, sku, attributes: (base ?? '') + cells }
  }
  if (base !== undefined && base !== '' && !isJson(base)) return { line, sku, attributes: base }
  const members = openMembers(base === '' ? undefined : base)
  const lost = values.find(({ path, value }) => members === undefined || !plant(members, path, readCell(value)))
  if (members !== undefined && lost === undefined) return { line, sku, attributes: writeMembers(members) }
  const description = `attributes.${lost?.path.join('.').slice(0, 64)}: leads through a value that is no object`
  return { line, sku: sku?.slice(0, 255) ?? null, type: 'VALIDATION_ERROR', description }
}

/** Members of an object by their keys: texts of JSON, and objects that were opened to put something in. */
type Members = Map<string, string | Members>

/** Puts a value below its path. False where a value on the way is no object, and so has no members. */
function plant(members: Members, [key = '', ...rest]: AttributePath, value: string): boolean {
  if (rest.length === 0) {
    members.set(key, value)
    return true
  }
  const branch = openMembers(members.get(key))
  if (branch === undefined) return false
  members.set(key, branch)
  return plant(branch, rest, value)
}

/** The members of an object, none where nothing is yet; undefined for another value. */
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
