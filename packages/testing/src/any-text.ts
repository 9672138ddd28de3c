import fc from 'fast-check'
import { expect } from 'vitest'

/**
 * Generates text of any Unicode characters. `fc.string({ unit: 'binary' })` does the same, but keeps a map of all 1.1 million
 * characters (118 MiB). `fc.string()` adds strings that are known to cause trouble.
 */
export const anyText = (constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string(constraints),
    fc.array(fc.nat(0x10_ffff), constraints).map((points) => String.fromCodePoint(...points).toWellFormed()),
  )

/** Matches any id of payments: 24 hexadecimal digits. */
export const anyId: unknown = expect.stringMatching(/^[0-9a-f]{24}$/)

/** Matches any UUID in lower case, of any version. */
export const anyUuid: unknown = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)

/** Matches any time in the format of answers: RFC 3339 in UTC, with milliseconds. */
export const anyTime: unknown = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
