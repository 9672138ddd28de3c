import type { ColumnType } from 'kysely'

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

/** A timestamptz: RFC 3339 text with microseconds when read (see timestamp.ts), a Date or such text when written. */
export type TimestampColumn = ColumnType<string, string | Date, string | Date>

/** A timestamptz that may hold NULL, but is never set to it. */
export type FilledTimestamp = ColumnType<string | null, string | Date | undefined, string | Date>

/** A jsonb column that may hold NULL, or JSON that is no object. */
export type MetadataColumn = ColumnType<unknown, JsonObject | undefined, JsonObject>

/** A timestamptz that has a default. */
export type GeneratedTimestamp = ColumnType<string, string | Date | undefined, string | Date>

/** A column that may hold NULL, but is never set to it. */
export type Filled<T> = ColumnType<T | null, T, T>
