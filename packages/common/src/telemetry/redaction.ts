/** Members whose value is a credential, in whatever object they stand. */
const SECRET_MEMBERS = [
  'password',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'accessToken',
  'refreshToken',
  'operatorKey',
  'apiKey',
] as const

/** Headers whose value is a credential, or names a request that may be repeated. Node.js writes their names in lower case. */
const SECRET_HEADERS = [
  'authorization',
  'cookie',
  'set-cookie',
  'apikey',
  'idempotency-key',
  'x-trestle-operator-key',
] as const

/** Members of a flat line that are redacted. With paths pino would search every line, with wildcards every value. */
export const REDACTED_MEMBERS: ReadonlySet<string> = new Set([...SECRET_MEMBERS, ...SECRET_HEADERS])

/**
 * Paths in a log line whose values are never logged: a secret in the line itself or in one of its objects, and the headers of a
 * request or an answer that the line has. In a path `*` stands for one level, and each further level makes a line slower.
 * Services add their own paths.
 */
export const REDACTED_PATHS: readonly string[] = [
  ...[...REDACTED_MEMBERS].flatMap((member) => [pathTo('', member), pathTo('*', member)]),
  ...SECRET_HEADERS.map((header) => pathTo('*.headers', header)),
]

/** The path to a member of an object. A name with a hyphen stands in brackets. */
function pathTo(object: string, member: string): string {
  if (/\W/.test(member)) return `${object}["${member}"]`
  return object === '' ? member : `${object}.${member}`
}

/** The text that replaces a redacted value. A reader sees that the member was there. */
export const CENSOR = '[redacted]'

/** Whether a text is a number of a card: 13 to 19 digits of which the last is the check digit (Luhn), with blanks or hyphens. */
export function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/[ +-]/g, '')
  if (!/^[1-9]\d{12,18}$/.test(digits)) return false
  const worths = [...digits].reverse().map((digit, place) => (place % 2 === 0 ? digit : String(Number(digit) * 2)))
  return [...worths.join('')].reduce((sum, digit) => sum + Number(digit), 0) % 10 === 0
}
