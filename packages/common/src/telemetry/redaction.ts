/** Paths in a log line whose values are never logged. Services add their own. */
export const REDACTED_PATHS: readonly string[] = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'accessToken',
  'refreshToken',
  'operatorKey',
  'apikey',
  'headers.authorization',
  'headers.cookie',
  'headers["idempotency-key"]',
  'headers["x-trestle-operator-key"]',
  '*.authorization',
  '*.password',
  '*.secret',
  '*.token',
  '*.access_token',
  '*.refresh_token',
  '*.accessToken',
  '*.refreshToken',
  '*.operatorKey',
]

/** Members of a flat line that are redacted. With paths pino would search every line, with wildcards every value. */
export const REDACTED_MEMBERS: ReadonlySet<string> = new Set(REDACTED_PATHS.filter((path) => /^\w+$/.test(path)))

/** The text that replaces a redacted value. A reader sees that the member was there. */
export const CENSOR = '[redacted]'
