import { createHmac } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** Messages that share an interval: a magic link counts as a recovery. */
export type ThrottleKind = 'confirmation' | 'recovery' | 'email_change' | 'reauthentication' | 'sms' | 'mfa_sms'

/** A message whose interval is noted. `intervalMs` is the least time since the message before it. */
export interface Throttled {
  readonly kind: ThrottleKind
  /** Normalised email or phone. */
  readonly identifier: string
  /** Undefined for the default audience. */
  readonly audience: string | undefined
  readonly intervalMs: number
  readonly now: Date
}

/**
 * Records that a message is requested, unless the interval since the last message is not over. Records unknown identifiers too, so
 * that answers do not differ (reference: Intervals between messages).
 * @returns undefined when a message may go out, else the milliseconds to wait
 */
export async function touchThrottle(
  db: Db,
  hmacKey: Buffer,
  { intervalMs, now, ...key }: Throttled,
): Promise<number | undefined> {
  const keyHash = hashThrottleKey(hmacKey, key)
  const { kind } = key
  const dueBefore = new Date(now.getTime() - intervalMs)
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('send_throttle')
    .values({ key_hash: keyHash, kind, sent_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(['key_hash', 'kind'])
        .doUpdateSet({ sent_at: now })
        .where('send_throttle.sent_at', '<=', sql<string>`${dueBefore}`),
    )
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows && numInsertedOrUpdatedRows > 0n) return undefined
  const row = await db
    .selectFrom('send_throttle')
    .select('sent_at')
    .where('key_hash', '=', keyHash)
    .where('kind', '=', kind)
    .executeTakeFirst()
  return row ? Math.max(0, Date.parse(row.sent_at) - dueBefore.getTime()) : undefined
}

/** The key of an identifier in the table: a keyed hash, so that the table lists nobody. */
export function hashThrottleKey(
  hmacKey: Buffer,
  { kind, identifier, audience }: Pick<Throttled, 'kind' | 'identifier' | 'audience'>,
): Buffer {
  const key = `throttle\0${kind}\0${identifier}${audience === undefined ? '' : `\0${audience}`}`
  return createHmac('sha256', hmacKey).update(key).digest()
}
