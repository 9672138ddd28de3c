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

/** The connection string of an error or a setting without its user and password. */
export function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//')
}
