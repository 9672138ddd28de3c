import { checkAttributes } from '../products/attributes.ts'
import { findSkuFault } from '../products/sku.ts'

/** A product of a file, as far as it can be read. */
export interface ReadProduct {
  /** Physical line of the file, from 1. */
  readonly line: number
  readonly sku: string
  /** JSON text. */
  readonly attributes: string
}

/** Why a record of a file is no product. */
export interface RecordFault {
  readonly line: number
  readonly sku: string | null
  readonly type: 'BAD_REQUEST' | 'VALIDATION_ERROR' | 'CONFLICT' | 'SERVER_ERROR'
  readonly description: string
}

export type ImportRecord = ReadProduct | RecordFault

/** A product as a record has it, of which nothing is known yet. */
export interface RawProduct {
  readonly line: number
  readonly sku: unknown
  /** JSON text; undefined when there is none. */
  readonly attributes: string | undefined
}

/** Judges a product as one that is created. */
export function judgeProduct({ line, sku, attributes }: RawProduct, attributesBytesMax: number): ImportRecord {
  if (typeof sku !== 'string')
    return invalidRecord(line, null, 'sku', sku === undefined ? 'is required' : 'must be a string')
  const fault = findSkuFault(sku)
  if (fault !== undefined) return invalidRecord(line, sku, 'sku', fault)
  if (attributes === undefined) return invalidRecord(line, sku, 'attributes', 'is required')
  const checked = checkAttributes(attributes, attributesBytesMax)
  if (checked.verdict === 'refused') return invalidRecord(line, sku, 'attributes', checked.reason)
  return { line, sku, attributes: checked.text }
}

function invalidRecord(line: number, sku: string | null, path: string, message: string): RecordFault {
  return {
    line,
    sku: sku === null ? null : sku.slice(0, 255),
    type: 'VALIDATION_ERROR',
    description: `${path}: ${message}`,
  }
}

/** A record that cannot be read at all. */
export function brokenRecord(line: number, description: string): RecordFault {
  return { line, sku: null, type: 'BAD_REQUEST', description }
}
