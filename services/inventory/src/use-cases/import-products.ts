import { isRefusedValue } from '@trestle/database/unavailable.ts'
import type { InventoryDeps } from '../deps.ts'
import type { ImportRecord, ReadProduct, RecordFault } from '../imports/import-record.ts'
import { type ImportReport, ImportTally } from '../imports/import-report.ts'
import { type ImportVerdict, type StoreBatch, storeAtOnce, storeWithin } from '../imports/import-repository.ts'

/** What to do with a product whose sku is taken. */
export const IMPORT_MODES = ['insert', 'upsert', 'skip'] as const
export type ImportMode = (typeof IMPORT_MODES)[number]

export interface ImportInput {
  /** As many at a time as have come. */
  readonly records: AsyncIterable<readonly ImportRecord[]>
  readonly mode: ImportMode
  /** `batches` stay as they are stored; `all-or-nothing` is one transaction; `nothing` tries and takes back. */
  readonly storing: 'batches' | 'all-or-nothing' | 'nothing'
}

/** What happens on the way. */
export type ImportEvent =
  | { readonly type: 'progress'; readonly received: number }
  | {
      readonly type: 'error'
      readonly line: number
      readonly sku: string | null
      readonly error: Pick<RecordFault, 'type' | 'description'>
    }

/** The end of an import. `taken-back`: all or nothing was asked for, and a record failed. */
export interface ImportOutcome {
  readonly verdict: 'stored' | 'tried' | 'taken-back'
  readonly report: ImportReport
}

const BATCH_ROWS = 500
/** Characters of attributes; large ones make smaller batches. */
const BATCH_LENGTH = 4_194_304

/**
 * Stores the products of a file in batches; no more than one batch is in memory. A batch that was stored stays whatever
 * happens later, so an import that broke off is continued by starting it again with `skip` or `upsert`.
 */
export async function* importProducts(
  { lanes, db }: Pick<InventoryDeps, 'lanes' | 'db'>,
  { records, mode, storing }: ImportInput,
): AsyncGenerator<ImportEvent, ImportOutcome> {
  const tally = new ImportTally()
  if (storing === 'batches') {
    const store = storeOneByOneWhenRefused(storeAtOnce(lanes))
    yield* storeRecords(records, { mode, tally, store })
    return { verdict: 'stored', report: tally.report() }
  }
  const trx = await db.startTransaction().execute()
  try {
    yield* storeRecords(records, { mode, tally, store: storeWithin(trx) })
    const report = tally.report()
    if (storing === 'nothing') return { verdict: 'tried', report }
    if (report.failed > 0) return { verdict: 'taken-back', report }
    await trx.commit().execute()
    return { verdict: 'stored', report }
  } finally {
    if (!trx.isCommitted) await trx.rollback().execute()
  }
}

type Store = (products: readonly ReadProduct[], replace: boolean) => Promise<readonly (ImportVerdict | 'refused')[]>

interface Storing {
  readonly mode: ImportMode
  readonly tally: ImportTally
  readonly store: Store
}

async function* storeRecords(
  records: ImportInput['records'],
  { mode, tally, store }: Storing,
): AsyncGenerator<ImportEvent, void> {
  let batch: ReadProduct[] = []
  let length = 0
  const faults: RecordFault[] = []
  const storeBatch = async (): Promise<void> => {
    const verdicts = batch.length === 0 ? [] : await store(batch, mode === 'upsert')
    for (const [at, product] of batch.entries()) {
      const fault = settle(product, verdicts[at] ?? 'refused', { mode, tally })
      if (fault !== undefined) faults.push(fault)
    }
    batch = []
    length = 0
  }
  for await (const some of records) {
    for (const record of some) {
      tally.receive(1)
      if ('description' in record) {
        faults.push(record)
      } else {
        batch.push(record)
        length += record.attributes.length
      }
      if (batch.length + faults.length < BATCH_ROWS && length < BATCH_LENGTH) continue
      await storeBatch()
      yield* tell(faults.splice(0), tally)
    }
  }
  await storeBatch()
  yield* tell(faults.splice(0), tally)
}

function* tell(faults: readonly RecordFault[], tally: ImportTally): Generator<ImportEvent> {
  for (const fault of faults) {
    tally.fail(fault)
    const { line, sku, type, description } = fault
    yield { type: 'error', line, sku, error: { type, description } }
  }
  yield { type: 'progress', received: tally.received }
}

/** Counts what became of a product, or says why nothing did. */
function settle(
  { line, sku }: ReadProduct,
  verdict: ImportVerdict | 'refused',
  { mode, tally }: Pick<Storing, 'mode' | 'tally'>,
): RecordFault | undefined {
  if (verdict === 'refused') {
    return { line, sku, type: 'SERVER_ERROR', description: 'The product could not be stored.' }
  }
  if (verdict === 'exists' && mode === 'insert') {
    return { line, sku, type: 'CONFLICT', description: 'A product with this sku already exists.' }
  }
  tally.count(verdict === 'exists' ? 'skipped' : verdict)
  return undefined
}

/** When the database refuses the values of a batch, one product of it is to blame: the others are stored without it. */
function storeOneByOneWhenRefused(store: StoreBatch): Store {
  return async (products, replace) => {
    try {
      return await store(products, replace)
    } catch (error) {
      if (!isRefusedValue(error)) throw error
    }
    const verdicts: (ImportVerdict | 'refused')[] = []
    for (const product of products) {
      const alone = store([product], replace).catch((error: unknown) => {
        if (!isRefusedValue(error)) throw error
        return ['refused'] as const
      })
      verdicts.push(...(await alone))
    }
    return verdicts
  }
}
