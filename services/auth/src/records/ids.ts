import { malformedId, newUserIdMalformed, newUserIdNil } from '../request-errors.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The UUID that no row has as its id. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

/** Requires a UUID of a path, in upper or lower case. @param name its name in the error, such as `user_id` */
export function requireId(name: string, text: string): string {
  const id = parseId(text)
  if (id === undefined) throw malformedId({ name })
  return id
}

/** Requires the id of a new user. A bad id is a bad request here, not a missing page. */
export function requireNewId(text: string): string {
  const id = parseId(text)
  if (id === undefined) throw newUserIdMalformed()
  if (id === NIL_UUID) throw newUserIdNil()
  return id
}

/** Parses a UUID to lower case; undefined for any other text. */
export function parseId(text: string): string | undefined {
  const id = text.toLowerCase()
  return UUID.test(id) ? id : undefined
}

/** A random UUID (RFC 9562, version 4) of 16 random bytes. */
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

/** How many names a line of the log has, and how long each may be. */
const NAMES_MAX = 10
const NAME_LENGTH_MAX = 60

/** Names of members, as a line of the log has them: how many there are, and the first ones. */
interface LoggedNames {
  readonly count: number
  readonly names: readonly string[]
}

/** Shortens names that a user or a provider has chosen, for the log. They may be many and long, and come with each token. */
export function toLoggedNames(names: readonly string[]): LoggedNames {
  const first = names.slice(0, NAMES_MAX)
  return { count: names.length, names: first.map((name) => name.slice(0, NAME_LENGTH_MAX).toWellFormed()) }
}
