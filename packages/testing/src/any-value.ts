import { expect } from 'vitest'

/** Equals any id of payments: 24 hexadecimal digits. */
export const anyId: unknown = expect.stringMatching(/^[0-9a-f]{24}$/)

/** Equals any UUID in lower case, of whatever version. */
export const anyUuid: unknown = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)

/** Equals any time as answers write it: RFC 3339 in UTC, with milliseconds. */
export const anyTime: unknown = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
