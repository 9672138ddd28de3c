import { DatabaseError } from 'pg'

/** No connection of the read pool is open. Clients get the error for an unavailable service. */
export class NoConnectionError extends Error {
  override readonly name = 'NoConnectionError'
}

/**
 * A rebalance is moving rows to other servers. All writes are refused, and a read may fail. A client gets the answer for an
 * unavailable service.
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
// `pg` reports these as plain errors without a code.
const CONNECTION_TEXTS =
  /connection terminated|connection error|timeout exceeded when trying to connect|connection ended|client was closed|query read timeout|pool after calling end/i
// Classes 08 (connection), 53 (resources), 57 (shutdown; 57014: statement timeout); 40001, 40P01, 25006 after all retries.
const SERVER_CLASSES = /^(08|53|57)|^(40001|40P01|25006)$/

/** Citus uses the code XX000 for messages about its tables and about other servers. */
const CITUS_CODE = 'XX000'
// A part of a table has disappeared since a statement was planned, because Citus has split or moved it. Nothing was written.
// STALE_PART is the message of Citus. DROPPED_PART is the message of the server that had the part: the table of the part is gone.
// The name of that table ends with the number of the part.
const STALE_PART = /^could not find valid entry for (shard|citus table) /i
const NO_TABLE_CODE = '42P01'
const DROPPED_PART = /^relation "[^"]+_\d+" does not exist$/
// The messages about a lost server. libpq writes them on the coordinator after a server was lost during a statement. Citus writes
// them on a server that is killed while it waits for another. Whether the lost server has committed is unknown.
const LOST_SERVER =
  /^postmaster was shut down|server closed the connection unexpectedly|connection not open|invalid socket|no connection to the server|could not (receive|send) data (from|to) server|failure on connection marked as essential/i

/** Returns whether the database is unreachable, overloaded or restarting. The same request may then succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof NoConnectionError || error instanceof RebalancingError) return true
  if (error instanceof DatabaseError)
    return SERVER_CLASSES.test(error.code ?? '') || isStalePart(error) || isLostServer(error)
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable)
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && NETWORK_CODES.has(error.code)) return 'syscall' in error
  return CONNECTION_TEXTS.test(error.message)
}

/** Returns whether a rebalance is moving rows. The refused statement may succeed after the rebalance. */
export function isRebalancingError(error: unknown): error is RebalancingError {
  return error instanceof RebalancingError
}

/** Returns whether a lock was not available within `lock_timeout` (55P03). */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '55P03'
}

/** Returns whether a statement was not run because an earlier statement of its transaction has failed (25P02). */
export function isInFailedTransaction(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '25P02'
}

/** Whether PostgreSQL rolled back a transaction because of a deadlock (40P01). The transaction may succeed if it is repeated. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '40P01'
}

/** Returns whether the server refused a statement and wrote nothing. Only in this case may the work be tried in another way. */
export function isRefusedStatement(error: unknown): boolean {
  return error instanceof DatabaseError && !isDatabaseUnavailable(error)
}

/**
 * Returns whether a statement lost a conflict: a serialization failure, a deadlock, or a part of a table that Citus has moved at
 * the same time. The statement wrote nothing and may succeed if it is repeated.
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

/** Returns whether the server ended a statement, for any reason. This says nothing about statements for other rows. */
export function isEndedStatement(error: unknown): error is Error {
  return error instanceof DatabaseError
}

/** Whether a statement failed because of a value or a constraint (classes 22 and 23). It fails again with the same values. */
export function isRefusedValue(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
}

/** Returns whether a statement exceeded its timeout (57014). */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '57014'
}
