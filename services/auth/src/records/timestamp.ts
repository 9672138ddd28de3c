import type { ColumnType } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'

/**
 * A moment as answers and rules carry it: RFC 3339 in UTC, with six fractional digits and a numeric offset, for example
 * `2026-01-02T03:04:05.123456+00:00` (reference: Timestamps). A Date would lose the microseconds of the database.
 */
export type Timestamp = string

/** The timestamp of a Date, which knows milliseconds only. */
export function toTimestamp(date: Date): Timestamp {
  return date.toISOString().replace('Z', '000+00:00')
}

/** Stands for a time that a row lacks. Rows that foreign SQL has written may lack any, and supabase/auth reads them so. */
export const NO_TIME: Timestamp = '0001-01-01T00:00:00.000000+00:00'

/** A jsonb column whose top level is an object. */
export type JsonObject = Record<string, unknown>

/** A column that PostgreSQL computes, and that no statement writes. */
export type Computed<T> = ColumnType<T, never, never>

/** A timestamptz: RFC 3339 text with microseconds when read, a Date or such text when written. */
export type TimestampColumn = ColumnType<string, string | Date, string | Date>

/** A timestamptz that may hold NULL, but is never set to it. */
export type FilledTimestamp = ColumnType<string | null, string | Date | undefined, string | Date>

/** A jsonb column that may hold NULL, or JSON that is no object. */
export type MetadataColumn = ColumnType<unknown, JsonObject | undefined, JsonObject>

/** A timestamptz that has a default. */
export type GeneratedTimestamp = ColumnType<string, string | Date | undefined, string | Date>

/** A column that may hold NULL, but is never set to it. */
export type Filled<T> = ColumnType<T | null, T, T>

/** Brings a value that is about to be written as JSON into the form of supabase/auth. */
type ToUpstreamForm = (value: unknown) => unknown

/** The members that belong to others: applications, providers, and programs that verify tokens. */
const FREE_FORM: ReadonlySet<string> = new Set(['app_metadata', 'user_metadata', 'identity_data', 'payload', 'claims'])
const UTC_OFFSET = '+00:00'

/** The form of values for clients and hooks. Undefined where the profile leaves every value as it is. */
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
    // Each answer passes here, and a loop over a copy takes half as long as entries.
    for (const name in shown) {
      const member = shown[name]
      if (typeof member !== 'string') shown[name] = FREE_FORM.has(name) ? member : toForm(member)
      else if (endTimesInZ && isTime(name, member)) shown[name] = `${member.slice(0, -UTC_OFFSET.length)}Z`
    }
    return shown
  }
  return toForm
}

/** Times are the members `…_at` and `banned_until`. */
function isTime(name: string, text: string): boolean {
  return (name.endsWith('_at') || name.endsWith('_until')) && text.endsWith(UTC_OFFSET)
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function isIdentity(value: Readonly<Record<string, unknown>>): boolean {
  return 'identity_data' in value && 'last_sign_in_at' in value
}

/** supabase/auth writes the time of a sign-in when it makes an identity, and later only for identities of providers. */
function withSignIn(identity: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...identity, last_sign_in_at: identity.last_sign_in_at ?? identity.created_at }
}
