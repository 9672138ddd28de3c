import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { duplicateSku } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { RECORD_TEXTS } from '../import-errors.ts'
import { checkAttributes } from '../products/attributes.ts'
import { findSkuProblem } from '../products/sku.ts'

/** A valid product of a file. */
export interface ReadProduct {
  /** Physical line of the file, from 1. */
  readonly line: number
  readonly sku: string
  /** JSON text. */
  readonly attributes: string
}

/** Why a record of a file fails. */
export interface RecordProblem {
  readonly line: number
  /** How many lines it takes up, where that is known to be more than it should: what follows an open quote is lost with it. */
  readonly lines?: number
  readonly sku: string | null
  readonly type: 'BAD_REQUEST' | 'VALIDATION_ERROR' | 'CONFLICT' | 'SERVER_ERROR'
  readonly description: string
}

/** How many lines of the file a record counts for: one, but each line that a broken record has swallowed. */
export function countLines(record: ImportRecord): number {
  return 'lines' in record ? (record.lines ?? 1) : 1
}

/** A record of a file: a product, or why it is none. */
export type ImportRecord = ReadProduct | RecordProblem

/** A product of a file that was not checked yet. */
export interface RawProduct {
  readonly line: number
  readonly sku: unknown
  /** JSON text; undefined when it is missing. */
  readonly attributes: string | undefined
}

/** Checks a product by the rules for new products. */
export function judgeProduct({ line, sku, attributes }: RawProduct, attributesBytesMax: number): ImportRecord {
  if (typeof sku !== 'string')
    return invalidRecord(line, null, 'sku', sku === undefined ? VALUE_TEXTS.required : FIELD_TEXTS.notString)
  const problem = findSkuProblem(sku)
  if (problem !== undefined) return invalidRecord(line, sku, 'sku', problem)
  if (attributes === undefined) return invalidRecord(line, sku, 'attributes', VALUE_TEXTS.required)
  const checked = checkAttributes(attributes, attributesBytesMax)
  if (checked.verdict === 'refused') return invalidRecord(line, sku, 'attributes', checked.reason)
  return { line, sku, attributes: checked.text }
}

function invalidRecord(line: number, sku: string | null, path: string, message: string): RecordProblem {
  return {
    line,
    sku: sku === null ? null : sku.slice(0, 255),
    type: 'VALIDATION_ERROR',
    description: RECORD_TEXTS.member(path, message),
  }
}

/** The problem of a record that cannot be read. `line` is the line where it begins, counted from 1. */
export function brokenRecord(line: number, description: string): RecordProblem {
  return { line, sku: null, type: 'BAD_REQUEST', description }
}

/** The problem of a record whose SKU is taken. */
export function takenProblem({ line, sku }: Pick<ReadProduct, 'line' | 'sku'>): RecordProblem {
  return { line, sku, type: 'CONFLICT', description: duplicateSku.message }
}

/** The problem of a record that PostgreSQL refuses alone. */
export function unstorableProblem({ line, sku }: ReadProduct): RecordProblem {
  return { line, sku, type: 'SERVER_ERROR', description: RECORD_TEXTS.notStored }
}
