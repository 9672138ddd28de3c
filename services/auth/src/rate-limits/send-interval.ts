import { createHmac } from 'node:crypto'
import { sql } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { Db, Trx } from '../database.ts'
import { emailTooSoon, smsTooSoon } from '../errors.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import type { ServerKeys } from '../secrets/encrypted-secret.ts'
import { retryAfterSeconds } from './rate-limits.ts'

/** Messages whose intervals have the same length: that of a magic link is as long as that of a recovery. */
export type IntervalKind = 'confirmation' | 'recovery' | 'email_change' | 'reauthentication' | 'sms' | 'mfa_sms'

export interface IntervalConfig {
  readonly jwt: { readonly audience: string }
  readonly mail: { readonly intervalMs: { readonly confirmation: number; readonly other: number } }
  readonly mfa: { readonly phone: { readonly intervalMs: number } }
  readonly sms: { readonly intervalMs: number }
}

/** The dependencies of the interval between messages. The table holds keyed hashes of identifiers. */
export interface IntervalDeps {
  readonly config: IntervalConfig
  readonly now: () => Date
  readonly serverKeys: Pick<ServerKeys, 'hmac'>
  /** Hears of each interval that a message has used up. */
  readonly recordInterval?: (key: IntervalKey) => void
}

/**
 * The scope of an interval, which others of its kind do not share. Without one the interval belongs to an address.
 * `confirmation`: confirmations of sign-ups by phone. `magiclink`: magic links. `resend`: requests of strangers to send the
 * message of a change again. `user`: messages that a signed-in user asks for, by the id of the user. `reauthentication`: nonces
 * of such a user. `new-address`: messages to an address that a user wants and does not have yet.
 */
type IntervalScope = 'confirmation' | 'magiclink' | 'resend' | 'user' | 'reauthentication' | 'new-address'

/** A kind of message to a normalised email or phone, or for a user. */
export interface IntervalKey {
  readonly kind: IntervalKind
  readonly scope?: IntervalScope
  readonly identifier: string
  /**
   * The audience of the request. A request for a user of another audience sends no message, and must not use the interval up.
   * Undefined is the default audience.
   */
  readonly audience: string | undefined
}

/** Records that a message goes out, in the transaction of its cause. @returns the intervals before, for `restoreIntervals` */
export async function requireInterval(trx: Trx, deps: IntervalDeps, key: IntervalKey): Promise<ReservedInterval> {
  const used = await reserveInterval(trx, deps, key)
  deps.recordInterval?.(key)
  return used
}

/** Requires that an interval is over, without using it up. */
export async function requireIntervalOver(trx: Trx, deps: IntervalDeps, key: IntervalKey): Promise<void> {
  const waitMs = await restOfInterval(trx, deps, key)
  if (waitMs) refuseTooSoon(key, waitMs)
}

export function magicLinkInterval(
  { shareRecoveryInterval }: Pick<CompatibilityOptions, 'shareRecoveryInterval'>,
  key: Pick<IntervalKey, 'identifier' | 'audience'>,
): IntervalKey {
  return shareRecoveryInterval ? { ...key, kind: 'recovery' } : { ...key, kind: 'recovery', scope: 'magiclink' }
}

export function confirmationInterval(
  { kind, value: identifier }: UserIdentifier,
  { audience }: Pick<IntervalKey, 'audience'>,
): IntervalKey {
  if (kind === 'email') return { kind: 'confirmation', identifier, audience }
  return { kind: 'sms', scope: 'confirmation', identifier, audience }
}

/**
 * Uses up the interval of the user at this phone. While the factor is not verified, also uses up the interval of the phone. Many
 * users must not send SMS to the phone of a stranger.
 */
export async function requireFactorIntervals(
  trx: Trx,
  deps: IntervalDeps,
  userId: string,
  { phone, status }: { readonly phone: string; readonly status: 'verified' | 'unverified' },
): Promise<void> {
  const ofUser = { kind: 'mfa_sms', scope: 'user', identifier: `${userId}\0${phone}`, audience: undefined } as const
  await requireInterval(trx, deps, ofUser)
  if (status === 'verified') return
  await requireInterval(trx, deps, { ...ofUser, scope: 'new-address', identifier: phone })
}

/** Tells when the next message may go out. */
export function refuseTooSoon(key: Pick<IntervalKey, 'kind'>, waitMs: number): never {
  const seconds = retryAfterSeconds(waitMs)
  const isSms = key.kind === 'sms' || key.kind === 'mfa_sms'
  const headers = { 'retry-after': String(seconds) }
  throw isSms ? smsTooSoon({ seconds }, { headers }) : emailTooSoon({ seconds }, { headers })
}

/**
 * Records that a message is requested, unless the interval since the last message is not over. Records unknown identifiers too,
 * so that answers do not differ (reference: Intervals between messages).
 * @returns undefined when a message may be sent, otherwise the milliseconds to wait
 */
export async function touchInterval(db: Db, deps: IntervalDeps, key: IntervalKey): Promise<number | undefined> {
  const used = await useOrWait(db, deps, key)
  if (typeof used === 'number') return used
  deps.recordInterval?.(key)
  return undefined
}

/** An interval that is used up for a message which is not stored yet. */
export interface ReservedInterval {
  readonly keyHash: Buffer
  readonly kind: IntervalKind
  readonly at: Date
  /** When the message before went out. Null where there was none. */
  readonly before: string | null
}

/** Records that a message is about to go out. */
export async function reserveInterval(db: Db, deps: IntervalDeps, key: IntervalKey): Promise<ReservedInterval> {
  const reserved = await useOrWait(db, deps, key)
  return typeof reserved === 'number' ? refuseTooSoon(key, reserved) : reserved
}

/**
 * Uses an interval up. Tries again where it has ended, or its message was taken back, between the two statements.
 * @returns the milliseconds to wait, above 0, where the interval is not over
 */
async function useOrWait(db: Db, deps: IntervalDeps, key: IntervalKey): Promise<ReservedInterval | number> {
  for (;;) {
    const used = await useInterval(db, deps, key)
    if (used) return used
    const waitMs = await restOfInterval(db, deps, key)
    if (waitMs) return waitMs
  }
}

/** Restores intervals to their state before the reservation, unless a later message has used them up. */
export async function restoreIntervals(db: Db, intervals: readonly ReservedInterval[]): Promise<void> {
  for (const { keyHash, kind, at, before } of intervals) {
    const table = sql.table('send_throttle')
    const isOurs = sql`key_hash = ${keyHash} AND kind = ${kind} AND sent_at = ${at}`
    const restored = sql`UPDATE ${table} SET sent_at = ${before} WHERE ${isOurs}`
    await (before === null ? sql`DELETE FROM ${table} WHERE ${isOurs}` : restored).execute(db)
  }
}

/** Records a message, if the interval is over. The statement reads the time of the message before as it was at its start. */
async function useInterval(db: Db, deps: IntervalDeps, key: IntervalKey): Promise<ReservedInterval | undefined> {
  const { kind } = key
  const keyHash = hashIntervalKey(deps, key)
  const at = deps.now()
  const dueBefore = new Date(at.getTime() - intervalMs(deps.config, kind))
  const row = await db
    .with('before', (query) =>
      query.selectFrom('send_throttle').select('sent_at').where('key_hash', '=', keyHash).where('kind', '=', kind),
    )
    .insertInto('send_throttle')
    .values({ key_hash: keyHash, kind, sent_at: at })
    .onConflict((conflict) =>
      conflict
        .columns(['key_hash', 'kind'])
        .doUpdateSet({ sent_at: at })
        .where('send_throttle.sent_at', '<=', sql<string>`${dueBefore}`),
    )
    .returning((query) => query.selectFrom('before').select('sent_at').as('before'))
    .executeTakeFirst()
  return row && { keyHash, kind, at, before: row.before }
}

/** The milliseconds that are left of an interval; 0 when it is over, undefined when no message has been requested. */
export async function restOfInterval(db: Db, deps: IntervalDeps, key: IntervalKey): Promise<number | undefined> {
  const dueBeforeMs = deps.now().getTime() - intervalMs(deps.config, key.kind)
  const row = await db
    .selectFrom('send_throttle')
    .select('sent_at')
    .where('key_hash', '=', hashIntervalKey(deps, key))
    .where('kind', '=', key.kind)
    .executeTakeFirst()
  return row && Math.max(0, Date.parse(row.sent_at) - dueBeforeMs)
}

/**
 * The least time between two messages of a kind to one identifier, in milliseconds (reference: Intervals between messages).
 */
export function intervalMs({ mail, mfa, sms }: Omit<IntervalConfig, 'jwt'>, kind: IntervalKind): number {
  if (kind === 'sms') return sms.intervalMs
  if (kind === 'mfa_sms') return mfa.phone.intervalMs
  return kind === 'confirmation' ? mail.intervalMs.confirmation : mail.intervalMs.other
}

/** The key of an interval as the table holds it: a keyed hash, so that the table lists nobody. */
export function hashIntervalKey(
  { config, serverKeys }: Pick<IntervalDeps, 'serverKeys'> & { readonly config: Pick<IntervalConfig, 'jwt'> },
  { kind, scope, identifier, audience = config.jwt.audience }: IntervalKey,
): Buffer {
  const name = scope === undefined ? kind : `${kind}/${scope}`
  const key = `throttle\0${name}\0${identifier}${audience === config.jwt.audience ? '' : `\0${audience}`}`
  return createHmac('sha256', serverKeys.hmac).update(key).digest()
}

interface StartDeps extends Pick<IntervalDeps, 'now' | 'serverKeys'> {
  readonly config: IntervalConfig & {
    readonly compatibility: Pick<CompatibilityOptions, 'startIntervalAtGeneratedLink'>
  }
  readonly db: Db
}

/** A link that an admin gets, by the kind of its token, and its user. */
interface AdminLink extends Omit<IntervalKey, 'kind' | 'scope'> {
  /** Null where the kind is no change of email. */
  readonly userId: string | null
  readonly kind: 'confirmation' | 'invitation' | 'recovery' | 'email_change_new' | 'email_change_current'
}

const INTERVALS_OF_LINKS = {
  confirmation: 'confirmation',
  invitation: 'confirmation',
  recovery: 'recovery',
  email_change_new: 'email_change',
  email_change_current: 'email_change',
} as const satisfies Record<AdminLink['kind'], IntervalKind>

/**
 * Starts the interval of a link that an admin gets, where such links count. The caller has committed: a
 * sign-up locks the interval before its user, and the caller has locked the user first.
 */
export async function startInterval(deps: StartDeps, link: AdminLink): Promise<void> {
  if (!deps.config.compatibility.startIntervalAtGeneratedLink) return
  const kind = INTERVALS_OF_LINKS[link.kind]
  const { identifier, audience } = link
  const keys: IntervalKey[] =
    kind === 'email_change' && link.userId !== null
      ? [
          { kind, scope: 'user', identifier: link.userId, audience },
          { kind, scope: 'resend', identifier, audience },
        ]
      : [{ kind, identifier, audience }]
  const sentAt = deps.now()
  await deps.db
    .insertInto('send_throttle')
    .values(keys.map((key) => ({ key_hash: hashIntervalKey(deps, key), kind, sent_at: sentAt })))
    .onConflict((conflict) => conflict.columns(['key_hash', 'kind']).doUpdateSet({ sent_at: sentAt }))
    .execute()
}

interface ChangingUser {
  readonly id: string
  readonly email: string | null
  readonly phone: string | null
  readonly audience: string
}

/** The address that a user wants. `email_change`: an email. `sms`: a phone. */
interface WantedAddress {
  readonly kind: 'email_change' | 'sms'
  readonly address: string
}

/**
 * Uses up the interval of the user, who must not mail many addresses. Also uses up that of the new address, which many users must
 * not mail. `POST /resend` waits for the change too.
 */
export async function requireChangeIntervals(
  trx: Trx,
  deps: IntervalDeps,
  user: ChangingUser,
  { kind, address }: WantedAddress,
): Promise<void> {
  const { audience } = user
  await requireInterval(trx, deps, { kind, scope: 'user', identifier: user.id, audience })
  await requireInterval(trx, deps, { kind, scope: 'new-address', identifier: address, audience: undefined })
  // A request to send the message again names the user by the email or the phone that the user has.
  for (const identifier of [user.email, user.phone]) {
    if (identifier !== null) await touchInterval(trx, deps, { kind, scope: 'resend', identifier, audience })
  }
}

/**
 * Uses up the interval of the wanted address, for a message that a stranger may have asked for again. The interval of the user
 * has to be over, and stays so: a stranger must not hold off a change that the user asks for.
 * @returns false while an interval is not over
 */
export async function claimResend(
  trx: Trx,
  deps: IntervalDeps,
  user: Pick<ChangingUser, 'id' | 'audience'>,
  { kind, address }: WantedAddress,
): Promise<boolean> {
  const { id, audience } = user
  if (await restOfInterval(trx, deps, { kind, scope: 'user', identifier: id, audience })) return false
  const key = { kind, scope: 'new-address', identifier: address, audience: undefined } as const
  return (await touchInterval(trx, deps, key)) === undefined
}
