import { randomUUID } from 'node:crypto'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { JobAttempt, Outcome } from '@trestle/jobs/attempt.ts'
import type { InventoryDeps } from '../deps.ts'
import { GIVEN_UP, IMPORT_ATTEMPTS, importTask } from '../imports/import-job.ts'
import { refusalOf } from '../imports/import-report.ts'
import {
  type ImportAttempt,
  type ImportEnd,
  insertImportAudit,
  listImportPieces,
  type TakenImport,
  updateEnded,
  updateProcessed,
  updateReport,
  updateRunner,
} from '../imports/operator-import-repository.ts'
import { importLimits, readRecords } from '../imports/read-records.ts'
import { type ImportKeeper, type ImportOutcome, importProducts } from './import-products.ts'

type RunDeps = Pick<InventoryDeps, 'transferDatabase' | 'config' | 'logger' | 'countImport'>

/**
 * Begins to work on the imports of operators, as a job.
 * @param stopping aborted when the process ends. Another process then goes on
 */
export function runImports(deps: RunDeps & Pick<InventoryDeps, 'jobs'>, stopping: AbortSignal): Promise<void> {
  return deps.jobs.work(importTask, ({ importId }, job) => runImport(deps, importId, job, stopping))
}

/**
 * Imports the file of an operator, or goes on with what an earlier attempt has left (console reference: Imports of operators). What is
 * stored and the report that counts it are written in the same transaction, so no record is stored twice, and none is left out.
 * @throws what a later attempt may succeed at, such as serviceUnavailable
 */
async function runImport(
  deps: RunDeps,
  importId: number,
  { attempt: number }: Pick<JobAttempt, 'attempt'>,
  stopping: AbortSignal,
): Promise<Outcome> {
  const { db } = deps.transferDatabase
  const attempt = { importId, runner: randomUUID() }
  const taken = await updateRunner(db, attempt)
  if (taken === undefined) return 'dropped'
  try {
    const end = number > IMPORT_ATTEMPTS ? failed(GIVEN_UP) : await runAttempt(deps, attempt, taken, stopping)
    if (end !== undefined) await endImport(deps, attempt, end)
    return 'done'
  } catch (error) {
    if (error instanceof SupersededError) return 'dropped'
    deps.logger.warn({ err: error, import_id: importId, attempt: number }, 'an attempt at an import failed')
    throw error
  }
}

/** Another attempt has taken the import over, or the import is gone. */
class SupersededError extends Error {
  override readonly name = 'SupersededError'
}

/** @returns how the import ends; undefined when a transaction of its own has ended it */
async function runAttempt(
  deps: RunDeps,
  attempt: ImportAttempt,
  { format, mode, storing, actorId, report }: TakenImport,
  signal: AbortSignal,
): Promise<ImportEnd | undefined> {
  const { transferDatabase, config, countImport, logger } = deps
  const records = readRecords(listImportPieces(transferDatabase.db, attempt.importId), format, importLimits(config))
  const keeper = createKeeper(transferDatabase.db, attempt, storing === 'batches' ? (report ?? undefined) : undefined)
  try {
    const outcome = await outcomeOf(
      importProducts(transferDatabase, { records, mode, storing, client: actorId, signal, keeper }),
    )
    const { verdict, report: final } = outcome
    const { errors: _errors, durationMs: _durationMs, ...counts } = final
    countImport(counts)
    logger.info({ event: 'import.finished', import_id: attempt.importId, verdict, ...counts }, 'an import has ended')
    const refusal = refusalOf(outcome)
    if (refusal) return { ...failureOf(refusal), report: final }
    return verdict === 'stored' && storing === 'all-or-nothing'
      ? undefined
      : { state: 'done', report: final, error: null }
  } catch (error) {
    // The file itself is wrong: another attempt would find the same.
    if (error instanceof HttpError && error.status < 500) return failureOf(error)
    throw error
  }
}

async function outcomeOf(run: ReturnType<typeof importProducts>): Promise<ImportOutcome> {
  for (let step = await run.next(); ; step = await run.next()) if (step.done) return step.value
}

function failureOf({ code: type, message: description }: HttpError): ImportEnd {
  return failed({ type, description })
}

function failed(error: ImportEnd['error']): ImportEnd {
  return { state: 'failed', report: null, error }
}

function createKeeper(db: InventoryDeps['db'], attempt: ImportAttempt, before: ImportKeeper['before']): ImportKeeper {
  const { importId } = attempt
  return {
    before,
    noteStaged: async (received) => expectHeld(await updateProcessed(db, attempt, received)),
    keepBatch: async (trx, report, products) => {
      await insertImportAudit(trx, importId, { skus: products.map(({ sku }) => sku) })
      expectHeld(await updateReport(trx, attempt, report))
    },
    keepWhole: async (trx, report) => {
      await insertImportAudit(trx, importId, 'every product')
      expectHeld(await updateEnded(trx, attempt, { state: 'done', report, error: null }))
    },
  }
}

function expectHeld(isHeld: boolean): void {
  if (!isHeld) throw new SupersededError('another attempt goes on with the import')
}

async function endImport({ transferDatabase: { db } }: RunDeps, attempt: ImportAttempt, end: ImportEnd): Promise<void> {
  await db.transaction().execute(async (trx) => expectHeld(await updateEnded(trx, attempt, end)))
}
