import { malformedId, newUserIdMalformed, newUserIdNil } from '../request-errors.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A UUID that is never the id of a row. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

/** Requires a UUID in a path, in any case. @param name the parameter name in the error, such as `user_id` */
export function requireId(name: string, text: string): string {
  const id = parseId(text)
  if (id === undefined) throw malformedId({ name })
  return id
}

/** Requires the id of a new user. An invalid id is a bad request here, not 404. */
export function requireNewId(text: string): string {
  const id = parseId(text)
  if (id === undefined) throw newUserIdMalformed()
  if (id === NIL_UUID) throw newUserIdNil()
  return id
}

/** Parses a UUID to lower case. Returns `undefined` for any other text. */
export function parseId(text: string): string | undefined {
  const id = text.toLowerCase()
  return UUID.test(id) ? id : undefined
}

/** Creates a version 4 UUID from 16 random bytes (RFC 9562). */
export function toUuid(bytes: Buffer): string {
  const version = ((bytes[6] ?? 0) & 0x0f) | 0x40
  const variant = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const all = Buffer.concat([
    bytes.subarray(0, 6),
    Buffer.of(version),
    bytes.subarray(7, 8),
    Buffer.of(variant),
    bytes.subarray(9, 16),
  ])
  return all.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The limits for names in a log line. */
const NAMES_MAX = 10
const NAME_LENGTH_MAX = 60

/** Names of members for a log line: their number, and the first ones. */
interface LoggedNames {
  readonly count: number
  readonly names: readonly string[]
}

/** Shortens names for the log. Users and providers choose them, so they may be many and long in each token. */
export function toLoggedNames(names: readonly string[]): LoggedNames {
  const first = names.slice(0, NAMES_MAX)
  return { count: names.length, names: first.map((name) => name.slice(0, NAME_LENGTH_MAX).toWellFormed()) }
}
