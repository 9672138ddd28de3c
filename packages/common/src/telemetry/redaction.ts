/** Paths in a log line whose values never leave the process. Services add their own. */
export const REDACTED_PATHS: readonly string[] = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'apikey',
  'headers.authorization',
  'headers.cookie',
  'headers["idempotency-key"]',
  '*.authorization',
  '*.password',
  '*.secret',
  '*.token',
  '*.access_token',
  '*.refresh_token',
  // What PostgreSQL says beside its message: whole rows.
  'err.detail',
  'err.where',
]

/** Members of a flat line that are redacted. Paths would make pino look into every line, wildcards into every value. */
export const REDACTED_MEMBERS: ReadonlySet<string> = new Set(REDACTED_PATHS.filter((path) => /^\w+$/.test(path)))

/** What stands in the place of a redacted value. */
export const CENSOR = '[redacted]'
