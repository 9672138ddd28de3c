import { isRefusedValue } from '@trestle/database/unavailable.ts'
import type { TransferDatabase } from '../deps.ts'
import { duplicateSku } from '../errors.ts'
import { RECORD_TEXTS } from '../field-errors.ts'
import { gatherBatches } from '../imports/gather-batches.ts'
import type { ImportRecord, ReadProduct, RecordProblem } from '../imports/import-record.ts'
import { type ImportReport, ImportTally } from '../imports/import-report.ts'
import { callImportProducts, type ImportVerdict } from '../imports/import-repository.ts'
import { StagedImport } from '../imports/staged-import.ts'
import type { Storing } from '../imports/storing.ts'

/** What can happen to a product whose SKU is taken (reference: Import). */
export const IMPORT_MODES = ['insert', 'upsert', 'skip'] as const
/** What happens to a product whose SKU is taken. */
export type ImportMode = (typeof IMPORT_MODES)[number]

/** A file to import, with whose it is and how it is stored. */
export interface ImportInput {
  /** As many at a time as have arrived. */
  readonly records: AsyncIterable<readonly ImportRecord[]>
  readonly mode: ImportMode
  readonly storing: Storing
  /** Names the client, which waits for its turn. */
  readonly client: string
  /** Aborted when the client leaves. Nothing is committed after that. */
  readonly signal: AbortSignal | undefined
}

/** What an import reports on the way. */
export type ImportEvent =
  | { readonly type: 'progress'; readonly received: number }
  | {
      readonly type: 'error'
      readonly line: number
      readonly sku: string | null
      readonly error: Pick<RecordProblem, 'type' | 'description'>
    }

/** The end of an import. `taken-back`: a record of an atomic import failed, so nothing was stored. */
export interface ImportOutcome {
  readonly verdict: 'stored' | 'tried' | 'taken-back'
  readonly report: ImportReport
}

/**
 * Stores the products of a file in batches (reference: Import). At most one batch is in memory. A stored batch stays whatever
 * happens later. The batches of an atomic import and of a dry run wait in a table of their own until the file has ended, so no
 * other request waits for the client.
 * @throws serviceUnavailable when the turn of the client does not come in time, or when an atomic import cannot be stored as a
 * whole, and what the records throw
 */
export async function* importProducts(
  database: TransferDatabase,
  input: ImportInput,
): AsyncGenerator<ImportEvent, ImportOutcome> {
  const tally = new ImportTally(() => performance.now())
  if (input.storing !== 'batches') return yield* importStaged(database, input, tally)
  const existing = input.mode === 'upsert' ? 'replace' : 'keep'
  yield* storeRecords(
    input,
    tally,
    storeInTurn(database, input, (products) => callImportProducts(database.db, products, existing)),
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
  // A dry run need not wait for atomic imports. Neither does an import with a failed record, which stores nothing.
  const isTrial = storing === 'nothing' || tally.failed > 0
  const finish = () => (isTrial ? staged.judge(mode) : staged.apply(mode))
  const end = await (isTrial ? batches : wholeImports).run(() => until(signal, finish), { client })
  tally.count('created', end.created)
  tally.count('updated', end.updated)
  tally.count('skipped', end.skipped)
  const isRefused = tally.failed > 0 || end.taken > 0
  for await (const rows of staged.listTaken(end)) yield* reportProblems(rows.map(takenProblem), tally)
  const report = tally.report()
  if (storing === 'nothing') return { verdict: 'tried', report }
  return { verdict: isRefused ? 'taken-back' : 'stored', report }
}

/** `staged`: the product waits for the end of the file. `unstorable`: PostgreSQL refuses its values. */
type BatchVerdict = ImportVerdict | 'staged' | 'unstorable'
type StoreBatch = (products: readonly ReadProduct[]) => Promise<readonly BatchVerdict[]>

/** Stores a batch in the turn of its client, unless the client has left. A batch that waits for its turn holds no connection. */
function storeInTurn(
  { batches, until }: TransferDatabase,
  { client, signal }: ImportInput,
  store: StoreBatch,
): StoreBatch {
  return retryOneByOne((products) => batches.run(() => until(signal, () => store(products)), { client }))
}

/** When PostgreSQL refuses a batch because of a value, stores its products one by one, so that only the bad one fails. */
function retryOneByOne(store: StoreBatch): StoreBatch {
  return async (products) => {
    try {
      return await store(products)
    } catch (error) {
      if (!isRefusedValue(error)) throw error
    }
    const verdicts: BatchVerdict[] = []
    for (const product of products) {
      const alone = store([product]).catch((error: unknown) => {
        if (!isRefusedValue(error)) throw error
        return ['unstorable'] as const
      })
      verdicts.push(...(await alone))
    }
    return verdicts
  }
}

/** Stores the records batch by batch, and reports the problems of each batch after it. */
async function* storeRecords(
  { records, mode }: ImportInput,
  tally: ImportTally,
  store: StoreBatch,
): AsyncGenerator<ImportEvent, void> {
  for await (const { products, problems } of gatherBatches(records, () => performance.now())) {
    tally.receive(products.length + problems.length)
    const verdicts = products.length === 0 ? [] : await store(products)
    const refused = products.flatMap(
      (product, at) => countVerdict(product, verdicts[at] ?? 'unstorable', { mode, tally }) ?? [],
    )
    yield* reportProblems([...problems, ...refused], tally)
  }
}

function* reportProblems(problems: readonly RecordProblem[], tally: ImportTally): Generator<ImportEvent> {
  for (const problem of problems) {
    tally.fail(problem)
    const { line, sku, type, description } = problem
    yield { type: 'error', line, sku, error: { type, description } }
  }
  yield { type: 'progress', received: tally.received }
}

/** Counts a product by its verdict. Returns the problem of a product that failed. */
function countVerdict(
  product: ReadProduct,
  verdict: BatchVerdict,
  { mode, tally }: { readonly mode: ImportMode; readonly tally: ImportTally },
): RecordProblem | undefined {
  const { line, sku } = product
  if (verdict === 'unstorable') {
    return { line, sku, type: 'SERVER_ERROR', description: RECORD_TEXTS.notStored }
  }
  if (verdict === 'staged') return undefined
  if (verdict === 'exists' && mode === 'insert') return takenProblem(product)
  tally.count(verdict === 'exists' ? 'skipped' : verdict)
  return undefined
}

function takenProblem({ line, sku }: Pick<ReadProduct, 'line' | 'sku'>): RecordProblem {
  return { line, sku, type: 'CONFLICT', description: duplicateSku.message }
}
