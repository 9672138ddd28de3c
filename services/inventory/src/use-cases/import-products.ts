import type { TransferDatabase } from '../deps.ts'
import type { ImportRecord, ReadProduct, RecordFault } from '../imports/import-record.ts'
import { type ImportReport, ImportTally } from '../imports/import-report.ts'
import { type ImportVerdict, storeBatch } from '../imports/import-repository.ts'
import { StagedImport } from '../imports/staged-import.ts'
import { storeOneByOneWhenRefused } from '../imports/store-one-by-one.ts'

/** What to do with a product whose sku is taken. */
export const IMPORT_MODES = ['insert', 'upsert', 'skip'] as const
export type ImportMode = (typeof IMPORT_MODES)[number]

export interface ImportInput {
  /** As many at a time as have come. */
  readonly records: AsyncIterable<readonly ImportRecord[]>
  readonly mode: ImportMode
  /** `batches` stay as they are stored; `all-or-nothing` is one transaction; `nothing` tells what would become of them. */
  readonly storing: 'batches' | 'all-or-nothing' | 'nothing'
  /** Who takes turns with others. */
  readonly client: string
  /** Aborted when nobody waits for the outcome any more: what has not been committed then never is. */
  readonly signal: AbortSignal | undefined
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
/** A file that comes slowly is stored, and told of, as often as this. */
const BATCH_MS = 1_000

/**
 * Stores the products of a file in batches; no more than one batch is in memory. A batch that was stored stays whatever
 * happens later, so an import that broke off is continued by starting it again with `skip` or `upsert`. Where all or nothing is
 * to be stored, the batches wait in a table of their own until the file has ended: nobody waits for its client.
 */
export async function* importProducts(
  database: TransferDatabase,
  input: ImportInput,
): AsyncGenerator<ImportEvent, ImportOutcome> {
  const tally = new ImportTally()
  if (input.storing !== 'batches') return yield* importStaged(database, input, tally)
  const replace = input.mode === 'upsert'
  yield* storeRecords(
    input,
    tally,
    storeInTurn(database, input, (products) => storeBatch(database.db, products, replace)),
  )
  return { verdict: 'stored', report: tally.report() }
}

async function* importStaged(
  database: TransferDatabase,
  input: ImportInput,
  tally: ImportTally,
): AsyncGenerator<ImportEvent, ImportOutcome> {
  const { mode, storing, client, signal } = input
  const { db, until, batches, wholeImports } = database
  await using staged = await StagedImport.open(db)
  yield* storeRecords(
    input,
    tally,
    storeInTurn(database, input, (products) => staged.add(products)),
  )
  // One that waits for its turn keeps no connection. What stores nothing need not wait for what stores a file as a whole.
  const isTrial = storing === 'nothing' || tally.failed > 0
  const finish = () => (isTrial ? staged.judge(mode) : staged.apply(mode))
  const end = await (isTrial ? batches : wholeImports).run(() => until(signal, finish), { client })
  tally.count('created', end.created)
  tally.count('updated', end.updated)
  tally.count('skipped', end.skipped)
  const isRefused = tally.failed > 0 || end.taken > 0
  for await (const rows of staged.listTaken(end)) yield* tell(rows.map(takenFault), tally)
  const verdict = storing === 'nothing' ? 'tried' : isRefused ? 'taken-back' : 'stored'
  return { verdict, report: tally.report() }
}

/** `staged`: it is decided later what becomes of it. `refused`: the database cannot hold it. */
type Stored = ImportVerdict | 'staged' | 'refused'
type Store = (products: readonly ReadProduct[]) => Promise<readonly Stored[]>

/** A client that leaves leaves no batch behind that waits for others, and one with many imports keeps no other client waiting. */
function storeInTurn({ batches, until }: TransferDatabase, { client, signal }: ImportInput, store: Store): Store {
  return storeOneByOneWhenRefused((products) => batches.run(() => until(signal, () => store(products)), { client }))
}

async function* storeRecords(
  { records, mode }: ImportInput,
  tally: ImportTally,
  store: Store,
): AsyncGenerator<ImportEvent, void> {
  let batch: ReadProduct[] = []
  let length = 0
  let storedAt = performance.now()
  const faults: RecordFault[] = []
  const storeAll = async (): Promise<void> => {
    const verdicts = batch.length === 0 ? [] : await store(batch)
    for (const [at, product] of batch.entries()) {
      const fault = settle(product, verdicts[at] ?? 'refused', { mode, tally })
      if (fault !== undefined) faults.push(fault)
    }
    batch = []
    length = 0
    storedAt = performance.now()
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
      await storeAll()
      yield* tell(faults.splice(0), tally)
    }
    if (batch.length + faults.length === 0 || performance.now() - storedAt < BATCH_MS) continue
    await storeAll()
    yield* tell(faults.splice(0), tally)
  }
  await storeAll()
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
  product: ReadProduct,
  verdict: Stored,
  { mode, tally }: { readonly mode: ImportMode; readonly tally: ImportTally },
): RecordFault | undefined {
  const { line, sku } = product
  if (verdict === 'refused') {
    return { line, sku, type: 'SERVER_ERROR', description: 'The product could not be stored.' }
  }
  if (verdict === 'staged') return undefined
  if (verdict === 'exists' && mode === 'insert') return takenFault(product)
  tally.count(verdict === 'exists' ? 'skipped' : verdict)
  return undefined
}

function takenFault({ line, sku }: Pick<ReadProduct, 'line' | 'sku'>): RecordFault {
  return { line, sku, type: 'CONFLICT', description: 'A product with this sku already exists.' }
}
