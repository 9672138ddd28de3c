import type { Timestamp } from './timestamp.ts'

// What rows may hold that others have written. Supabase/auth reads them in the same way.

/** Shown for a time that a row does not have. */
export const NO_TIME: Timestamp = '0001-01-01T00:00:00.000000+00:00'

/** The metadata of a column; none where it holds no object. */
export function toMetadata(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}
