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
