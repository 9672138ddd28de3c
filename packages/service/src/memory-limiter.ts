import type * as library from 'rate-limiter-flexible'
// @ts-expect-error TS7016: only the index has types, and that loads every store that the library knows, 36 files.
import memory from 'rate-limiter-flexible/lib/RateLimiterMemory.js'
// @ts-expect-error TS7016
import result from 'rate-limiter-flexible/lib/RateLimiterRes.js'

/** A limiter that counts in this process. */
export const RateLimiterMemory: typeof library.RateLimiterMemory = memory

/** What any limiter throws when the points are used up. */
export const RateLimiterRes: typeof library.RateLimiterRes = result
