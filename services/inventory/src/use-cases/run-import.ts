import { randomUUID } from 'node:crypto'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { JobAttempt, Outcome } from '@trestle/jobs/attempt.ts'
import type { InventoryDeps } from '../deps.ts'
import {
  type ClaimedImport,
  claimImport,
  type ImportAttempt,
  type ImportEnd,
  SupersededError,
  updateEnded,
} from '../imports/import-attempt-repository.ts'
import { GIVEN_UP, IMPORT_ATTEMPTS, importTask } from '../imports/import-job.ts'
import { refusalOf } from '../imports/import-report.ts'
import { listImportPieces } from '../imports/operator-import-repository.ts'
import { importLimits, readRecords } from '../imports/read-records.ts'
import { type ImportOutcome, importProducts } from './import-products.ts'

type RunDeps = Pick<InventoryDeps, 'transferDatabase' | 'config' | 'logger' | 'countImport'>

/**
 * Starts to work on the imports of operators, as a job.
 * @param stopping aborted when the process ends. Another process then goes on
 */
export async function startImports(deps: RunDeps & Pick<InventoryDeps, 'jobs'>, stopping: AbortSignal): Promise<void> {
  await deps.jobs.work(importTask, ({ importId }, job) => runImport(deps, importId, job, stopping))
}

/**
 * Imports the file of an operator, or goes on with what an earlier attempt has left (console reference: Imports of operators). What is
 * stored and the report that counts it are written in the same transaction, so no record is stored twice, and none is left out.
 * @returns `dropped` when the import has ended, is gone, or was claimed by another attempt
 * @throws what a later attempt may succeed at, such as serviceUnavailable
 */
async function runImport(
  deps: RunDeps,
  importId: number,
  job: Pick<JobAttempt, 'attempt'>,
  stopping: AbortSignal,
): Promise<Outcome> {
  const attempt = { importId, attemptId: randomUUID() }
  const claimed = await claimImport(deps.transferDatabase.db, attempt)
  if (claimed === undefined) return 'dropped'
  try {
    if (job.attempt > IMPORT_ATTEMPTS) await endImport(deps, attempt, failed(GIVEN_UP))
    else await importFile(deps, attempt, claimed, stopping)
    return 'done'
  } catch (error) {
    if (error instanceof SupersededError) return 'dropped'
    deps.logger.warn({ err: error, import_id: importId, attempt: job.attempt }, 'an attempt at an import failed')
    throw error
  }
}

/** Imports the records that are not stored yet, and ends the import. */
async function importFile(
  deps: RunDeps,
  attempt: ImportAttempt,
  claimed: ClaimedImport,
  stopping: AbortSignal,
): Promise<void> {
  const outcome = await importRest(deps, attempt, claimed, stopping)
  if (outcome instanceof HttpError) return endImport(deps, attempt, failureOf(outcome))
  noteOutcome(deps, attempt, outcome)
  // The transaction that has stored a file as a whole has ended its import.
  if (outcome.verdict === 'stored' && claimed.storing === 'all-or-nothing') return
  const refusal = refusalOf(outcome)
  const end: ImportEnd = refusal ? failureOf(refusal) : { state: 'done', report: null, error: null }
  await endImport(deps, attempt, { ...end, report: outcome.report })
}

/** @returns the error of a file that cannot be read. The file itself is wrong, so another attempt would find the same */
async function importRest(
  { transferDatabase, config }: RunDeps,
  attempt: ImportAttempt,
  { format, mode, storing, actorId, report }: ClaimedImport,
  signal: AbortSignal,
): Promise<ImportOutcome | HttpError> {
  const records = readRecords(listImportPieces(transferDatabase.db, attempt.importId), format, importLimits(config))
  // Until a file is stored as a whole, nothing of it is stored.
  const before = storing === 'batches' ? (report ?? undefined) : undefined
  try {
    return await outcomeOf(
      importProducts(transferDatabase, { records, mode, storing, client: actorId, signal, attempt, before }),
    )
  } catch (error) {
    if (error instanceof HttpError && error.status < 500) return error
    throw error
  }
}

async function outcomeOf(run: ReturnType<typeof importProducts>): Promise<ImportOutcome> {
  for (let step = await run.next(); ; step = await run.next()) if (step.done) return step.value
}

/** Counts the records of an import, and logs how it has ended. */
function noteOutcome(
  { countImport, logger }: Pick<RunDeps, 'countImport' | 'logger'>,
  { importId }: ImportAttempt,
  { verdict, report }: ImportOutcome,
): void {
  const { errors: _errors, durationMs: _durationMs, ...counts } = report
  countImport(counts)
  logger.info({ event: 'import.finished', import_id: importId, verdict, ...counts }, 'an import has ended')
}

function failureOf({ code: type, message: description }: HttpError): ImportEnd {
  return failed({ type, description })
}

function failed(error: ImportEnd['error']): ImportEnd {
  return { state: 'failed', report: null, error }
}

async function endImport({ transferDatabase: { db } }: RunDeps, attempt: ImportAttempt, end: ImportEnd): Promise<void> {
  await db.transaction().execute((trx) => updateEnded(trx, attempt, end))
}
