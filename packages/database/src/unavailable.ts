import { DatabaseError } from 'pg'

/** The read pool has no open connection: its server is unavailable. A client gets the answer for an unavailable service. */
export class NoConnectionError extends Error {
  override readonly name = 'NoConnectionError'
}

/**
 * Rows are moving to other servers. Nothing may be written, and a read may fail. A client gets the answer for
 * an unavailable service.
 */
export class RebalancingError extends Error {
  override readonly name = 'RebalancingError'
}

const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
])
// pg reports these as plain errors, without a code.
const CONNECTION_TEXTS =
  /connection terminated|connection error|timeout exceeded when trying to connect|connection ended|client was closed|query read timeout|pool after calling end/i
// Class 08 (connection), 53 (resources), 57 (shutdown, and 57014: a statement timeout), 40 (all repeats are used up).
const SERVER_CLASSES = /^(08|53|57)|^(40001|40P01|25006)$/

/** Citus has no code of its own for messages about its tables and about other servers: they have XX000. */
const CITUS_CODE = 'XX000'
// A part of a table has gone since a statement was planned: Citus has split or moved it. Nothing was written.
// STALE_PART is the message of Citus. DROPPED_PART is that of the server that had the part: its table, whose name ends with the
// number of the part, is gone.
const STALE_PART = /^could not find valid entry for (shard|citus table) /i
const NO_TABLE_CODE = '42P01'
const DROPPED_PART = /^relation "[^"]+_\d+" does not exist$/
// The messages about a lost server: libpq writes them on the coordinator when a server was lost during a statement, and Citus writes
// them on a server that is killed while it waits for another server. Whether a commit was done there is unknown.
const LOST_SERVER =
  /^postmaster was shut down|server closed the connection unexpectedly|connection not open|invalid socket|no connection to the server|could not (receive|send) data (from|to) server|failure on connection marked as essential/i

/** Whether the database is unreachable, overloaded or restarting, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof NoConnectionError || error instanceof RebalancingError) return true
  if (error instanceof DatabaseError)
    return SERVER_CLASSES.test(error.code ?? '') || isStalePart(error) || isLostServer(error)
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable)
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && NETWORK_CODES.has(error.code)) return 'syscall' in error
  return CONNECTION_TEXTS.test(error.message)
}

/** Whether rows are moving to other servers. What was refused may succeed once they have moved. */
export function isRebalancingError(error: unknown): error is RebalancingError {
  return error instanceof RebalancingError
}

/** Whether a lock was not available within `lock_timeout` (55P03). */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '55P03'
}

/** Whether a statement was not run because an earlier one of its transaction has failed (25P02). */
export function isInFailedTransaction(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '25P02'
}

/** Whether a transaction was ended because of a deadlock (40P01). It may succeed when it is repeated. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '40P01'
}

/** Whether the server refused a statement and so wrote nothing. Only then may the work be tried in another way. */
export function isRefusedStatement(error: unknown): boolean {
  return error instanceof DatabaseError && !isDatabaseUnavailable(error)
}

/**
 * Whether a statement lost a conflict (serialization failure, deadlock, a part of a table that Citus has moved meanwhile), wrote
 * nothing, and may succeed when it is repeated.
 */
export function isLostConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40001' || error.code === '40P01' || isStalePart(error))
}

function isStalePart({ code, message }: DatabaseError): boolean {
  return (code === CITUS_CODE && STALE_PART.test(message)) || (code === NO_TABLE_CODE && DROPPED_PART.test(message))
}

function isLostServer({ code, message }: DatabaseError): boolean {
  return code === CITUS_CODE && LOST_SERVER.test(message)
}

/** Whether the server ended a statement, for any reason. Nothing follows from this for statements about other rows. */
export function isEndedStatement(error: unknown): error is Error {
  return error instanceof DatabaseError
}

/** Whether a value or a constraint made a statement fail (classes 22 and 23). With the same values it never succeeds. */
export function isRefusedValue(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
}

/** Whether a statement took too long (57014). */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '57014'
}
