/** Members of any object whose value is a credential. */
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

/** Headers whose value is a credential, or a key by which a request can be repeated. Node.js uses lower-case names. */
const SECRET_HEADERS = [
  'authorization',
  'cookie',
  'set-cookie',
  'apikey',
  'idempotency-key',
  'x-trestle-operator-key',
] as const

/** Members of a flat line that are redacted. pino would search every line for paths, every value for wildcards. */
export const REDACTED_MEMBERS: ReadonlySet<string> = new Set([...SECRET_MEMBERS, ...SECRET_HEADERS])

/**
 * Paths in a log line whose values are never logged. They cover secrets in the line itself and in its objects, and the headers of
 * a request or an answer. In a path, `*` stands for one level. Each further level makes logging slower. Services add their own
 * paths.
 */
export const REDACTED_PATHS: readonly string[] = [
  ...[...REDACTED_MEMBERS].flatMap((member) => [pathTo('', member), pathTo('*', member)]),
  ...SECRET_HEADERS.map((header) => pathTo('*.headers', header)),
]

/** Returns the path to a member of an object. A name with a hyphen needs brackets. */
function pathTo(object: string, member: string): string {
  if (/\W/.test(member)) return `${object}["${member}"]`
  return object === '' ? member : `${object}.${member}`
}

/** The text that replaces a redacted value, so that a reader sees that the member existed. */
export const CENSOR = '[redacted]'

/** Returns whether text is a card number: 13 to 19 digits with a valid check digit (Luhn). Spaces and hyphens are ignored. */
export function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/[ +-]/g, '')
  if (!/^[1-9]\d{12,18}$/.test(digits)) return false
  const worths = [...digits].reverse().map((digit, place) => (place % 2 === 0 ? digit : String(Number(digit) * 2)))
  return [...worths.join('')].reduce((sum, digit) => sum + Number(digit), 0) % 10 === 0
}
