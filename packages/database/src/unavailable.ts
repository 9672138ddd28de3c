import pg from 'pg'

/** The read lane has no open connection at this moment. */
export class NoConnectionError extends Error {
  override readonly name = 'NoConnectionError'
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
// pg reports these as plain errors, by text alone.
const CONNECTION_TEXTS =
  /connection terminated|connection error|timeout exceeded when trying to connect|connection ended|client was closed|query read timeout|pool after calling end/i
// Class 08 (connection), 53 (resources), 57 (shutdown, and 57014: a statement that ran into its timeout), 40 (retries used up).
const SERVER_CLASSES = /^(08|53|57)|^(40001|40P01|25006)$/

/** Whether an error says that the database is away, overloaded or restarting, so that the same request may work later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof NoConnectionError) return true
  if (error instanceof pg.DatabaseError) return SERVER_CLASSES.test(error.code ?? '')
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable)
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && NETWORK_CODES.has(error.code)) return 'syscall' in error
  return CONNECTION_TEXTS.test(error.message)
}

/** Whether a lock was not had within `lock_timeout` (55P03). */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03'
}

/** Whether two transactions waited for each other, and this one was ended (40P01): tried again, it may go through. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '40P01'
}

/** Whether the server refused a statement, and so did nothing of it: only then may the same be tried in another way. */
export function isRefusedStatement(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !isDatabaseUnavailable(error)
}

/** Whether a statement lost against others (serialization, deadlock) and may be had by sending it again. */
export function isLostConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** Whether the server ended a statement, for whatever reason: of one that is about other rows nothing is known yet. */
export function isEndedStatement(error: unknown): error is Error {
  return error instanceof pg.DatabaseError
}

/** Whether a value or a constraint was against a statement (classes 22 and 23): with the same values it never goes through. */
export function isRefusedValue(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '')
}

/** Whether a statement was ended because it took too long (57014). */
export function isStatementTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '57014'
}
