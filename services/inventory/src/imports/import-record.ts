import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { duplicateSku, RECORD_TEXTS } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { checkAttributes, findSkuProblem } from '../products/product.ts'

export interface ReadProduct {
  /** The physical line in the file, starting at 1. */
  readonly line: number
  readonly sku: string
  readonly attributes: string
}

export interface RecordProblem {
  readonly line: number
  /** The number of lines of the record, if an open quote may have included later records. */
  readonly lines?: number
  readonly sku: string | null
  readonly type: 'BAD_REQUEST' | 'VALIDATION_ERROR' | 'CONFLICT' | 'SERVER_ERROR'
  readonly description: string
}

/** The number of records that this record counts for: one, or one per line of a broken record. */
export function countLines(record: ImportRecord): number {
  return 'lines' in record ? (record.lines ?? 1) : 1
}

export type ImportRecord = ReadProduct | RecordProblem

export interface RawProduct {
  readonly line: number
  readonly sku: unknown
  /** JSON text. `undefined` if it is missing. */
  readonly attributes: string | undefined
}

/** Validates a product with the rules for new products. */
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

/** The problem of an unreadable record. `line` is its first line, starting at 1. */
export function brokenRecord(line: number, description: string): RecordProblem {
  return { line, sku: null, type: 'BAD_REQUEST', description }
}

export function takenProblem({ line, sku }: Pick<ReadProduct, 'line' | 'sku'>): RecordProblem {
  return { line, sku, type: 'CONFLICT', description: duplicateSku.message }
}

export function unstorableProblem({ line, sku }: ReadProduct): RecordProblem {
  return { line, sku, type: 'SERVER_ERROR', description: RECORD_TEXTS.notStored }
}

/** The products of one statement, and the invalid records of the same part of the file. */
export interface RecordBatch {
  readonly products: readonly ReadProduct[]
  readonly problems: readonly RecordProblem[]
}

interface OpenBatch {
  readonly products: ReadProduct[]
  readonly problems: RecordProblem[]
  /** The number of characters of attributes. */
  attributesLength: number
  readonly begunAtMs: number
}

const RECORDS_MAX = 500
/** In characters. If attributes are long, batches are small. */
const ATTRIBUTES_LENGTH_MAX = 4_194_304
/** The time after which an incomplete batch of a slow file is stored and reported. */
const WAIT_MS_MAX = 1_000

/**
 * Collects the records of a file until a batch is full or has waited long enough. The last batch may be empty. If the file ends
 * early, the last batch contains the records before that point, so the report contains each record that was read.
 * @param now the time in milliseconds, from any origin; called only when records arrive
 * @throws the error of the records, after the last batch
 */
export async function* gatherBatches(
  records: AsyncIterable<readonly ImportRecord[]>,
  now: () => number,
): AsyncGenerator<RecordBatch, void> {
  let batch = beginBatch(now())
  try {
    for await (const arrived of records) {
      for (const record of arrived) {
        addRecord(batch, record)
        if (!isFull(batch)) continue
        yield batch
        batch = beginBatch(now())
      }
      if (!isLate(batch, now())) continue
      yield batch
      batch = beginBatch(now())
    }
  } catch (error) {
    if (countRecords(batch) > 0) yield batch
    throw error
  }
  yield batch
}

/** Splits a batch into batches of one record, in the order of the file. */
export function splitBatch({ products, problems }: RecordBatch): readonly RecordBatch[] {
  const singles = [
    ...products.map((product) => ({ line: product.line, products: [product], problems: [] })),
    ...problems.map((problem) => ({ line: problem.line, products: [], problems: [problem] })),
  ]
  return singles.sort((one, other) => one.line - other.line)
}

/** Skips the first records, which an earlier attempt has processed. */
export async function* skipRecords(
  records: AsyncIterable<readonly ImportRecord[]>,
  count: number,
): AsyncGenerator<readonly ImportRecord[]> {
  let left = count
  for await (const arrived of records) {
    let skipped = 0
    for (const record of arrived) {
      if (left <= 0) break
      left -= countLines(record)
      skipped++
    }
    yield arrived.slice(skipped)
  }
}

function beginBatch(begunAtMs: number): OpenBatch {
  return { products: [], problems: [], attributesLength: 0, begunAtMs }
}

function addRecord(batch: OpenBatch, record: ImportRecord): void {
  if ('description' in record) {
    batch.problems.push(record)
    return
  }
  batch.products.push(record)
  batch.attributesLength += record.attributes.length
}

function isFull(batch: OpenBatch): boolean {
  return countRecords(batch) >= RECORDS_MAX || batch.attributesLength >= ATTRIBUTES_LENGTH_MAX
}

function isLate(batch: OpenBatch, nowMs: number): boolean {
  return countRecords(batch) > 0 && nowMs - batch.begunAtMs >= WAIT_MS_MAX
}

function countRecords({ products, problems }: RecordBatch): number {
  return products.length + problems.length
}
