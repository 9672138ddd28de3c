import { countLines, type ImportRecord, type ReadProduct, type RecordProblem } from './import-record.ts'

/** The products that one statement stores, and the records of the same part of the file that cannot be stored. */
export interface RecordBatch {
  readonly products: readonly ReadProduct[]
  readonly problems: readonly RecordProblem[]
}

/** A batch that still takes records. */
interface OpenBatch {
  readonly products: ReadProduct[]
  readonly problems: RecordProblem[]
  /** Characters of attributes. */
  attributesLength: number
  readonly begunAtMs: number
}

const RECORDS_MAX = 500
/** Characters. Long attributes make small batches. */
const ATTRIBUTES_LENGTH_MAX = 4_194_304
/** A batch of a slow file is stored, and reported, after this time. */
const WAIT_MS_MAX = 1_000

/**
 * Gathers the records of a file until a batch is full, or has waited for long enough. The last batch may be empty. When the file
 * breaks off, the records in front of that place are the last batch, so each record that was read is in the report.
 * @param now milliseconds since any time; asked only when records arrive
 * @throws what the records throw, behind the last batch
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

/** Takes a batch apart into batches of one record, in the order of the file. */
export function splitBatch({ products, problems }: RecordBatch): readonly RecordBatch[] {
  const singles = [
    ...products.map((product) => ({ line: product.line, products: [product], problems: [] })),
    ...problems.map((problem) => ({ line: problem.line, products: [], problems: [problem] })),
  ]
  return singles.sort((one, other) => one.line - other.line)
}

/** Leaves out the first records, which an earlier attempt has dealt with. */
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
