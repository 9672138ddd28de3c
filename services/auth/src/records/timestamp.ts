import type { ColumnType } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'

/**
 * A time in responses and rules: RFC 3339 in UTC, with six fractional digits and a numeric offset, for example
 * `2026-01-02T03:04:05.123456+00:00` (reference: Timestamps). A Date would lose the microseconds of the database.
 */
export type Timestamp = string

/** Formats a Date, which has only milliseconds. */
export function toTimestamp(date: Date): Timestamp {
  return date.toISOString().replace('Z', '000+00:00')
}

/** Replaces a missing time of a row. Rows that other SQL has written may lack any time. supabase/auth does the same. */
export const NO_TIME: Timestamp = '0001-01-01T00:00:00.000000+00:00'

/** A jsonb column whose top level is an object. */
export type JsonObject = Record<string, unknown>

/** A column that PostgreSQL computes. No statement writes it. */
export type Computed<T> = ColumnType<T, never, never>

/** A timestamptz. Reads return RFC 3339 text with microseconds, and writes accept a Date or such text. */
export type TimestampColumn = ColumnType<string, string | Date, string | Date>

/** A timestamptz that may be NULL. This service never writes NULL. */
export type FilledTimestamp = ColumnType<string | null, string | Date | undefined, string | Date>

/** A jsonb column that may be NULL or not an object. */
export type MetadataColumn = ColumnType<unknown, JsonObject | undefined, JsonObject>

/** A timestamptz with a default. */
export type GeneratedTimestamp = ColumnType<string, string | Date | undefined, string | Date>

/** A column that may be NULL. This service never writes NULL. */
export type Filled<T> = ColumnType<T | null, T, T>

/** Converts a value into the form of supabase/auth before it is written as JSON. */
type ToUpstreamForm = (value: unknown) => unknown

/** Members that applications, providers or hooks define, so their content stays unchanged. */
const FREE_FORM: ReadonlySet<string> = new Set(['app_metadata', 'user_metadata', 'identity_data', 'payload', 'claims'])
const UTC_OFFSET = '+00:00'

/** Returns the form of values for clients and hooks, or `undefined` if the profile changes nothing. */
export function upstreamForm({
  endTimesInZ,
  showSignInOfOwnIdentities,
}: Pick<CompatibilityOptions, 'endTimesInZ' | 'showSignInOfOwnIdentities'>): ToUpstreamForm | undefined {
  if (!endTimesInZ && !showSignInOfOwnIdentities) return undefined
  const toForm = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(toForm)
    if (!isPlainObject(value)) return value
    const shown: Record<string, unknown> =
      showSignInOfOwnIdentities && isIdentity(value) ? withSignIn(value) : { ...value }
    // This runs for each response. A loop over a copy takes half the time of `Object.entries`.
    for (const name in shown) {
      const member = shown[name]
      if (typeof member !== 'string') shown[name] = FREE_FORM.has(name) ? member : toForm(member)
      else if (endTimesInZ && isTime(name, member)) shown[name] = `${member.slice(0, -UTC_OFFSET.length)}Z`
    }
    return shown
  }
  return toForm
}

function isTime(name: string, text: string): boolean {
  return (name.endsWith('_at') || name.endsWith('_until')) && text.endsWith(UTC_OFFSET)
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function isIdentity(value: Readonly<Record<string, unknown>>): boolean {
  return 'identity_data' in value && 'last_sign_in_at' in value
}

/** supabase/auth sets `last_sign_in_at` of every new identity, but updates it only for identities of providers. */
function withSignIn(identity: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...identity, last_sign_in_at: identity.last_sign_in_at ?? identity.created_at }
}
