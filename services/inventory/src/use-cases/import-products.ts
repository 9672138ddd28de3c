import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import { isRefusedValue } from '@trestle/database/unavailable.ts'
import type { Trx } from '../database.ts'
import {
  type ImportAttempt,
  insertImportAudit,
  updateEnded,
  updateProcessed,
  updateReport,
} from '../imports/import-attempt-repository.ts'
import {
  countLines,
  gatherBatches,
  type ImportRecord,
  type RecordBatch,
  type RecordProblem,
  skipRecords,
  splitBatch,
  takenProblem,
  unstorableProblem,
} from '../imports/import-record.ts'
import { type BatchOutcome, type ImportReport, ImportTally, type Storing } from '../imports/import-report.ts'
import {
  callImportProducts,
  type ImportVerdict,
  type StagedCounts,
  StagedImport,
  type TransferDatabase,
} from '../imports/import-repository.ts'
import type { ReadPlace } from '../imports/read-records.ts'

/** The values of the parameter `mode`, for products whose SKU is taken (reference: Import). */
export const IMPORT_MODES = ['insert', 'upsert', 'skip'] as const
/** If a SKU is taken, `insert` fails, `upsert` replaces the attributes, and `skip` leaves the record out. */
export type ImportMode = (typeof IMPORT_MODES)[number]

export interface ImportProductsInput {
  /** The records in groups, as they arrive. */
  readonly records: AsyncIterable<readonly ImportRecord[]>
  readonly mode: ImportMode
  readonly storing: Storing
  /** Identifies the client for its share of the slots. */
  readonly client: string
  /** Aborted when the client disconnects. Nothing is committed afterwards. */
  readonly signal: AbortSignal | undefined
  /** The attempt of a job. `undefined` if no later attempt would continue an interrupted import. */
  readonly attempt?: ImportAttempt
  /** The report of earlier attempts. The import continues after the records in it. */
  readonly before?: ImportReport | undefined
  /** The position of the reader of the records. */
  readonly place: ReadPlace
  /** Called at the end of an import, even if the import was interrupted. */
  readonly onEnd?: (verdict: ImportOutcome['verdict'] | 'broken-off', report: ImportReport) => void
}

/** The progress of an import: the number of received records, or the error of a record with its line. */
export type ImportEvent =
  | { readonly type: 'progress'; readonly received: number }
  | {
      readonly type: 'error'
      readonly line: number
      readonly sku: string | null
      readonly error: Pick<RecordProblem, 'type' | 'description'>
    }

/** `taken-back`: a record of an atomic import failed, so nothing was stored. */
export interface ImportOutcome {
  readonly verdict: 'stored' | 'tried' | 'taken-back'
  readonly report: ImportReport
}

/**
 * Stores the products of a file in batches (reference: Import). At most one batch is in memory. A stored batch remains even if a
 * later one fails. The batches of an atomic import and of a dry run are kept in a separate table until the end of the file, so no
 * other request waits for the client.
 * @throws serviceUnavailable if the client gets no slot in time or an atomic import cannot be stored as a whole, SupersededError
 * if another attempt has claimed the import, and the error of the records
 */
export async function* importProducts(
  database: TransferDatabase,
  input: ImportProductsInput,
): AsyncGenerator<ImportEvent, ImportOutcome> {
  const tally = new ImportTally(() => performance.now(), input.place, input.before)
  let verdict: ImportOutcome['verdict'] | 'broken-off' = 'broken-off'
  try {
    const outcome = yield* importInto(database, input, tally)
    verdict = outcome.verdict
    return outcome
  } finally {
    input.onEnd?.(verdict, tally.report())
  }
}

async function* importInto(
  database: TransferDatabase,
  input: ImportProductsInput,
  tally: ImportTally,
): AsyncGenerator<ImportEvent, ImportOutcome> {
  if (input.storing !== 'batches') return yield* importStaged(database, input, tally)
  const { attempt, mode } = input
  const store = attempt ? storeWithReport(database, { attempt, mode }, tally) : storeAlone(database, input)
  yield* storeRecords(input, tally, storeWithSlot(database, input, store))
  return { verdict: 'stored', report: tally.report() }
}

async function* importStaged(
  database: TransferDatabase,
  input: ImportProductsInput,
  tally: ImportTally,
): AsyncGenerator<ImportEvent, ImportOutcome> {
  const { mode, storing, client, signal, attempt } = input
  const { db, until, batches, wholeImports } = database
  await using staged = await StagedImport.open(db)
  const stage: StoreBatch = async (batch) => {
    const { products } = batch
    const outcome = judgeBatch(batch, products.length === 0 ? [] : await staged.add(products), mode)
    if (attempt) await updateProcessed(db, attempt, tally.received + outcome.received)
    return outcome
  }
  yield* storeRecords(input, tally, storeWithSlot(database, input, stage))
  // Do not wait for atomic imports in a dry run, or after a failed record, because nothing is stored then.
  const isTrial = storing === 'nothing' || tally.failed > 0
  const endAttempt = async (trx: Trx, counts: StagedCounts) => {
    if (!attempt) return
    await insertImportAudit(trx, attempt.importId, 'every product')
    await updateEnded(trx, attempt, { state: 'done', report: tally.reportWith(wholeOutcome(counts)), error: null })
  }
  const finish = () => (isTrial ? staged.judge(mode) : staged.apply(mode, endAttempt))
  const end = await (isTrial ? batches : wholeImports).run(() => until(signal, finish), { client })
  tally.add(wholeOutcome(end))
  const isRefused = tally.failed > 0 || end.taken > 0
  for await (const rows of staged.listTaken(end)) {
    const problems = rows.map(takenProblem)
    tally.add({ ...NONE, problems })
    yield* eventsOf(problems)
    yield { type: 'progress', received: tally.received }
  }
  const report = tally.report()
  if (storing === 'nothing') return { verdict: 'tried', report }
  return { verdict: isRefused ? 'taken-back' : 'stored', report }
}

const NONE: BatchOutcome = { received: 0, created: 0, updated: 0, skipped: 0, problems: [] }

/** Returns the counts that a whole file adds to the report at its end. Its records were counted when they arrived. */
function wholeOutcome({ created, updated, skipped }: StagedCounts): BatchOutcome {
  return { ...NONE, created, updated, skipped }
}

/** Stores the records of a batch, or none of them. @throws pg.DatabaseError if PostgreSQL refuses a value */
type StoreBatch = (batch: RecordBatch) => Promise<BatchOutcome>

function storeAlone({ db }: Pick<TransferDatabase, 'db'>, { mode }: Pick<ImportProductsInput, 'mode'>): StoreBatch {
  return async (batch) => {
    const { products } = batch
    const verdicts = products.length === 0 ? [] : await callImportProducts(db, products, existingOf(mode))
    return judgeBatch(batch, verdicts, mode)
  }
}

function storeWithReport(
  { db }: Pick<TransferDatabase, 'db'>,
  { attempt, mode }: { readonly attempt: ImportAttempt; readonly mode: ImportMode },
  tally: ImportTally,
): StoreBatch {
  return (batch) =>
    againWhenLost(() =>
      db.transaction().execute(async (trx) => {
        const outcome = await storeAlone({ db: trx }, { mode })(batch)
        await insertImportAudit(trx, attempt.importId, { skus: batch.products.map(({ sku }) => sku) })
        await updateReport(trx, attempt, tally.reportWith(outcome))
        return outcome
      }),
    )
}

/** Stores a batch in a slot of its client, unless the client has disconnected. A waiting batch uses no connection. */
function storeWithSlot(
  { batches, until }: TransferDatabase,
  { client, signal }: ImportProductsInput,
  store: StoreBatch,
): StoreBatch {
  return async (batch) => {
    // The last batch of a file may be empty.
    if (batch.products.length + batch.problems.length === 0) return NONE
    return batches.run(() => until(signal, () => store(batch)), { client })
  }
}

/** Stores the records in batches, and reports the problems after each batch. */
async function* storeRecords(
  { records }: ImportProductsInput,
  tally: ImportTally,
  store: StoreBatch,
): AsyncGenerator<ImportEvent, void> {
  for await (const batch of gatherBatches(skipRecords(records, tally.received), () => performance.now())) {
    for await (const outcome of retryOneByOne(batch, store)) {
      tally.add(outcome)
      yield* eventsOf(outcome.problems)
    }
    yield { type: 'progress', received: tally.received }
  }
}

/** If PostgreSQL refuses a batch because of a value, stores its records one by one, so that only the bad one fails. */
async function* retryOneByOne(batch: RecordBatch, store: StoreBatch): AsyncGenerator<BatchOutcome, void> {
  const whole = await catchRefusal(store(batch))
  if (whole !== undefined) {
    yield whole
    return
  }
  for (const single of splitBatch(batch)) {
    const problems = single.products.map(unstorableProblem)
    yield (await catchRefusal(store(single))) ?? (await store({ products: [], problems }))
  }
}

async function catchRefusal(stored: Promise<BatchOutcome>): Promise<BatchOutcome | undefined> {
  try {
    return await stored
  } catch (error) {
    if (!isRefusedValue(error)) throw error
    return undefined
  }
}

function* eventsOf(problems: readonly RecordProblem[]): Generator<ImportEvent> {
  for (const { line, sku, type, description } of problems) {
    yield { type: 'error', line, sku, error: { type, description } }
  }
}

/** Returns the outcome of a batch. A staged product counts only at the end of the file. */
function judgeBatch(
  { products, problems }: RecordBatch,
  verdicts: readonly (ImportVerdict | 'staged')[],
  mode: ImportMode,
): BatchOutcome {
  const count = (wanted: ImportVerdict) => verdicts.filter((verdict) => verdict === wanted).length
  const taken = mode === 'insert' ? products.filter((_, at) => verdicts[at] === 'exists') : []
  return {
    received: products.length + problems.reduce((sum, problem) => sum + countLines(problem), 0),
    created: count('created'),
    updated: count('updated'),
    skipped: count('exists') - taken.length,
    problems: [...problems, ...taken.map(takenProblem)],
  }
}

function existingOf(mode: ImportMode): 'replace' | 'keep' {
  return mode === 'upsert' ? 'replace' : 'keep'
}
