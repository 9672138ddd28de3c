import { randomUUID } from 'node:crypto'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { JobAttempt, Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import {
  type ClaimedImport,
  claimImport,
  type ImportAttempt,
  type ImportEnd,
  SupersededError,
  updateEnded,
} from '../imports/import-attempt-repository.ts'
import { GIVEN_UP, IMPORT_ATTEMPTS, type ImportJob, importTask } from '../imports/import-job.ts'
import { type ImportReport, refusalOf } from '../imports/import-report.ts'
import type { TransferDatabase } from '../imports/import-repository.ts'
import { listImportPieces } from '../imports/operator-import-repository.ts'
import { type ImportBounds, importLimits, readRecords } from '../imports/read-records.ts'
import { type ImportOutcome, importProducts } from './import-products.ts'

interface RunDeps {
  readonly transferDatabase: TransferDatabase
  readonly config: ImportBounds
  readonly logger: Pick<ServiceLogger['logger'], 'info' | 'warn'>
  readonly countImport: (counts: Readonly<Record<string, number>>) => void
  /** Aborted when the process ends. Another process then continues. */
  readonly stopping: AbortSignal
}

/**
 * Imports the file of an operator, or continues an earlier attempt (console reference: Imports of operators). Products and the
 * report that counts them are written in the same transaction, so no record is stored twice or left out.
 * @returns `dropped` if the import has ended, does not exist, or was claimed by another attempt
 * @throws the error of an attempt that may succeed later, such as serviceUnavailable
 */
async function runImport(deps: RunDeps, { importId }: ImportJob, job: Pick<JobAttempt, 'attempt'>): Promise<Outcome> {
  const { db } = deps.transferDatabase
  const attempt = { importId, attemptId: randomUUID() }
  const claimed = await claimImport(db, attempt)
  if (claimed === undefined) return 'dropped'
  try {
    const isLast = job.attempt > IMPORT_ATTEMPTS
    const end = isLast ? failed(GIVEN_UP) : await storeRecords(deps, attempt, claimed)
    if (end !== 'ended') await db.transaction().execute((trx) => updateEnded(trx, attempt, end))
    return 'done'
  } catch (error) {
    if (error instanceof SupersededError) return 'dropped'
    deps.logger.warn({ err: error, import_id: importId, attempt: job.attempt }, 'an attempt at an import failed')
    throw error
  }
}

export async function startImports(deps: RunDeps & { readonly jobs: Pick<Jobs, 'work'> }): Promise<void> {
  await deps.jobs.work(importTask, (job, attempt) => runImport(deps, job, attempt))
}

/**
 * Stores the records of a file that earlier attempts have not stored.
 * @returns the end of the import, or `ended` if the transaction that stored the whole file has already ended the import
 */
async function storeRecords(
  deps: RunDeps,
  attempt: ImportAttempt,
  { format, mode, storing, actorId, report }: ClaimedImport,
): Promise<ImportEnd | 'ended'> {
  const { transferDatabase, config, stopping: signal } = deps
  const place = { line: 0 }
  const pieces = listImportPieces(transferDatabase.db, attempt.importId)
  const records = readRecords(pieces, format, importLimits(config), place)
  // Nothing of an atomic import is stored yet, so read its file from the beginning.
  const before = storing === 'batches' ? (report ?? undefined) : undefined
  let ended: ImportReport | undefined
  const onEnd = (_verdict: string, at: ImportReport) => {
    ended = at
  }
  const input = { records, mode, storing, client: actorId, signal, attempt, before, place, onEnd }
  try {
    const outcome = await runToEnd(importProducts(transferDatabase, input))
    reportOutcome(deps, attempt, outcome)
    if (outcome.verdict === 'stored' && storing === 'all-or-nothing') return 'ended'
    const refusal = refusalOf(outcome)
    const end = refusal ? failed(shownError(refusal)) : ({ state: 'done', error: null } as const)
    return { ...end, report: outcome.report }
  } catch (error) {
    // The file itself is invalid, so another attempt would fail in the same way.
    if (error instanceof HttpError && error.isOfInput && ended !== undefined) {
      reportOutcome(deps, attempt, { verdict: 'broken-off', report: ended })
      return { ...failed(shownError(error)), report: ended }
    }
    throw error
  }
}

/** Runs an import and ignores its progress events, because the report in the database shows the progress. */
async function runToEnd(run: ReturnType<typeof importProducts>): Promise<ImportOutcome> {
  for (let step = await run.next(); ; step = await run.next()) if (step.done) return step.value
}

function reportOutcome(
  { countImport, logger }: Pick<RunDeps, 'countImport' | 'logger'>,
  { importId }: ImportAttempt,
  { verdict, report }: { readonly verdict: ImportOutcome['verdict'] | 'broken-off'; readonly report: ImportReport },
): void {
  const { errors: _errors, durationMs: _durationMs, ...counts } = report
  countImport(counts)
  logger.info({ event: 'import.finished', import_id: importId, verdict, ...counts }, 'an import has ended')
}

function failed(error: ImportEnd['error']): ImportEnd {
  return { state: 'failed', report: null, error }
}

function shownError({ code: type, message: description }: HttpError): NonNullable<ImportEnd['error']> {
  return { type, description }
}
