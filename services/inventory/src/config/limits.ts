import { integer } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { limitStoreSettings } from '@trestle/rate-limits/limit-settings.ts'

/** PostgreSQL cannot index the words of some longer attributes, because a tsvector holds 1 MiB. */
const ATTRIBUTES_BYTES_MAX = 131_072
const BODY_BYTES_MAX = 104_857_600
const LIMIT_MAX = 10_000

/** The settings that bound requests: their number, size and time, and the rows that they may ask for. */
export const limitSettings = group('Limits', {
  RATE_LIMIT: integer(0, 1_000_000).prefault('0').describe('Requests of an address in a minute. 0 lifts the limit.'),
  ...limitStoreSettings,
  DEFAULT_LIMIT: integer(1, LIMIT_MAX).prefault('50').describe('Products of a page when the request names no limit.'),
  MAX_LIMIT: integer(1, LIMIT_MAX).prefault('500').describe('Most products of a page.'),
  MAX_BODY_BYTES: integer(1, BODY_BYTES_MAX, 'bytes').prefault('1048576').describe('Largest body of a request.'),
  MAX_ATTRIBUTES_BYTES: integer(2, ATTRIBUTES_BYTES_MAX, 'bytes')
    .prefault('65536')
    .describe('Largest attributes of a product, as JSON.'),
  IMPORT_MAX_BYTES: integer(1, undefined, 'bytes')
    .prefault('268435456')
    .describe('Largest file of an import over HTTP.'),
  EXPORT_SPOOL_MAX_BYTES: integer(0, undefined, 'bytes')
    .prefault('268435456')
    .describe(
      'Space on disk for exports whose readers are slow, of all exports together; one client has at most half of it. Beyond it, an export that is not read for a minute ends.',
    ),
})
