/**
 * A moment as the wire and the domain carry it: RFC 3339, UTC, six fractional digits, numeric offset, for example
 * `2026-01-02T03:04:05.123456+00:00` (reference: Timestamps). Never a Date, which would lose the microseconds of the
 * database.
 */
export type Timestamp = string

/** The timestamp of a Date, which knows milliseconds only. */
export function toTimestamp(date: Date): Timestamp {
  return date.toISOString().replace('Z', '000+00:00')
}
