import { createHash } from 'node:crypto'
import { HttpError, withDetails } from '@trestle/common/errors/define-error.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { serviceUnavailable } from '../errors.ts'
import { type Answered, type Caller, refuseKey } from '../idempotency/idempotent-request.ts'
import { runOnce } from '../idempotency/key-repository.ts'
import { importTask } from '../imports/import-job.ts'
import { countLines, type ImportRecord } from '../imports/import-record.ts'
import { type BatchOutcome, ImportTally, type ReportedImport } from '../imports/import-report.ts'
import type { TransferDatabase } from '../imports/import-repository.ts'
import {
  deleteOperatorImport,
  type ImportOrder,
  insertImportPiece,
  insertOperatorImport,
  updateArrived,
} from '../imports/operator-import-repository.ts'
import { type ImportBounds, importLimits, readRecords } from '../imports/read-records.ts'
import type { AuditedChange } from '../operators/operator-change.ts'
import { type ChangeDeps, runAuditedChange } from '../operators/operator-change-repository.ts'

/** The size of a piece of a file. Several copies of a piece are in memory at the same time. */
const PIECE_BYTES = 262_144

interface QueueDeps extends ChangeDeps {
  readonly transferDatabase: Pick<TransferDatabase, 'db' | 'batches'>
  readonly jobs: Pick<Jobs, 'send'>
  readonly config: ImportBounds
}

export interface QueueImportInput extends ImportOrder {
  readonly operator: Operator
  readonly key: string | undefined
  readonly bytes: AsyncIterable<Uint8Array>
  /** Returns the caller for a request with this content. */
  readonly toCaller: (content: object) => Caller
}

/**
 * Stores the file of an import in the database while it arrives. Then sends the job that imports it, in the transaction of the
 * audit log. An unreadable file is refused immediately. The same file with the same Idempotency-Key is imported once.
 * @throws
 * - the error of the bytes
 * - fileNotUtf8, fileTooLarge, recordTooLong, headerMissing, headerBroken, tooManyColumns, columnsUnknown, columnTwice,
 *   skuColumnMissing and attributesColumnMissing from `readRecords`
 * - serviceUnavailable if the operator gets no slot in time, or if the file arrives so slowly that clean-up deletes it
 * - keyMismatch if the Idempotency-Key was used for another request
 * - keyRunning while the first request of the key runs
 */
export async function queueImport(deps: QueueDeps, input: QueueImportInput): Promise<Answered<ReportedImport>> {
  const { operator, key, bytes, toCaller, ...order } = input
  const { db, batches } = deps.transferDatabase
  const withSlot = <T>(work: () => Promise<T>) => batches.run(work, { client: operator.actor.id })
  const id = await withSlot(() => insertOperatorImport(db, { operator, key }, order))
  const discard = () => deleteOperatorImport(db, id)
  const place = { line: 0 }
  const tally = new ImportTally(() => performance.now(), place)
  try {
    const keep: KeepPiece = async (at, piece) => {
      if (!(await withSlot(() => insertImportPiece(db, id, at, piece)))) throw arrivedTooSlowly()
    }
    const digest = await keepFile(bytes, keep, async (kept) => {
      for await (const records of readRecords(kept, order.format, importLimits(deps.config), place)) {
        tally.add(arrivedOf(records))
      }
    }).catch((error: unknown) => {
      throw error instanceof HttpError ? withDetails(error, { report: tally.report() }) : error
    })
    const total = tally.received
    const caller = toCaller({ ...order, digest })
    const send = (own: QueueDeps) => sendJob(own, caller, { id, total })
    const answer = await runAuditedChange(deps, { operator, key }, send, ({ verdict }) =>
      verdict === 'done' ? auditStart(id, { ...order, total }) : undefined,
    )
    if (answer.verdict === 'replayed') await discard()
    return answer
  } catch (error) {
    // If this fails, clean-up deletes the file an hour later.
    await discard().catch(() => {})
    throw error
  }
}

/** Returns the outcome of records that have arrived but are not imported yet. */
function arrivedOf(records: readonly ImportRecord[]): BatchOutcome {
  const received = records.reduce((sum, record) => sum + countLines(record), 0)
  return { received, created: 0, updated: 0, skipped: 0, problems: [] }
}

/** Stores a piece of a file. @param at the number of the piece, from 0 */
type KeepPiece = (at: number, piece: Uint8Array) => Promise<void>

/**
 * Stores a file while it arrives and reads it at the same time, so that an unreadable file is refused immediately.
 * @returns the SHA-256 of the file in hexadecimal
 */
async function keepFile(
  bytes: AsyncIterable<Uint8Array>,
  keep: KeepPiece,
  read: (kept: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  const kept = keepPieces(bytes, async (place, piece) => {
    hash.update(piece)
    await keep(place, piece)
  })
  await read(kept)
  return hash.digest('hex')
}

/** Collects bytes into pieces, and yields each piece after it is stored. */
async function* keepPieces(bytes: AsyncIterable<Uint8Array>, keep: KeepPiece): AsyncGenerator<Uint8Array, void> {
  let place = 0
  let gathered: Uint8Array[] = []
  let size = 0
  for await (const chunk of bytes) {
    gathered.push(chunk)
    size += chunk.byteLength
    if (size < PIECE_BYTES) continue
    const piece = Buffer.concat(gathered)
    await keep(place++, piece)
    yield piece
    gathered = []
    size = 0
  }
  if (size === 0) return
  const piece = Buffer.concat(gathered)
  await keep(place, piece)
  yield piece
}

async function sendJob(
  { db, jobs }: QueueDeps,
  caller: Caller,
  { id, total }: { readonly id: number; readonly total: number },
): Promise<Answered<ReportedImport>> {
  const answer = await runOnce(db, caller, async (trx) => {
    const queued = await updateArrived(trx, id, total)
    if (queued === undefined) throw arrivedTooSlowly()
    await jobs.send(trx, importTask, { importId: id })
    return queued
  })
  return answer.body === null ? refuseKey(answer.verdict) : answer
}

/** Returns the error for a file of which no complete piece arrived for an hour. Clean-up has deleted it as interrupted. */
function arrivedTooSlowly(): HttpError {
  return serviceUnavailable({ cause: new Error('clean-up has deleted the file while it arrived') })
}

function auditStart(id: number, changes: object): AuditedChange {
  return { action: 'products.import', object: { kind: 'import', id }, productIds: [], changes }
}
