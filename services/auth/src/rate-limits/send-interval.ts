import { createHmac } from 'node:crypto'
import { sql } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { Db, Trx } from '../database.ts'
import { emailTooSoon, smsTooSoon } from '../errors.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import type { ServerKeys } from '../secrets/encrypted-secret.ts'
import { retryAfterSeconds } from './rate-limits.ts'

/** Kinds of messages by the setting for their interval. A magic link has the interval of a recovery. */
export type IntervalKind = 'confirmation' | 'recovery' | 'email_change' | 'reauthentication' | 'sms' | 'mfa_sms'

export interface IntervalConfig {
  readonly jwt: { readonly audience: string }
  readonly mail: { readonly intervalMs: { readonly confirmation: number; readonly other: number } }
  readonly mfa: { readonly phone: { readonly intervalMs: number } }
  readonly sms: { readonly intervalMs: number }
}

/** The dependencies of intervals between messages. The table contains keyed hashes of identifiers. */
export interface IntervalDeps {
  readonly config: IntervalConfig
  readonly now: () => Date
  readonly serverKeys: Pick<ServerKeys, 'hmac'>
  /** Called for each interval that a message starts. */
  readonly recordInterval?: (key: IntervalKey) => void
}

/**
 * Separates intervals of the same kind. Without a scope, the interval belongs to an address. `confirmation`: sign-ups by phone.
 * `magiclink`: magic links. `resend`: requests of anyone to send the message of a change again. `user`: messages that a signed-in
 * user requests, by user id. `reauthentication`: nonces of such a user. `new-address`: messages to an address that a user wants
 * to add.
 */
type IntervalScope = 'confirmation' | 'magiclink' | 'resend' | 'user' | 'reauthentication' | 'new-address'

/** A kind of message to a normalised email or phone, or for a user. */
export interface IntervalKey {
  readonly kind: IntervalKind
  readonly scope?: IntervalScope
  readonly identifier: string
  /**
   * The audience of the request. `undefined` means the default audience. A request for a user of another audience sends no
   * message, so it must not start the interval of that user.
   */
  readonly audience: string | undefined
}

/** Starts an interval in the transaction of its cause. @returns the previous state, for `restoreIntervals` */
export async function requireInterval(trx: Trx, deps: IntervalDeps, key: IntervalKey): Promise<ReservedInterval> {
  const used = await reserveInterval(trx, deps, key)
  deps.recordInterval?.(key)
  return used
}

/** Requires that an interval is over, without starting a new one. */
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
 * Starts the interval of the user for this phone and, for an unverified factor, the interval of the phone. Otherwise many users
 * could send SMS to the phone of a stranger.
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

/** Throws an error that states when the next message may be sent. */
export function refuseTooSoon(key: Pick<IntervalKey, 'kind'>, waitMs: number): never {
  const seconds = retryAfterSeconds(waitMs)
  const isSms = key.kind === 'sms' || key.kind === 'mfa_sms'
  const headers = { 'retry-after': String(seconds) }
  throw isSms ? smsTooSoon({ seconds }, { headers }) : emailTooSoon({ seconds }, { headers })
}

/**
 * Starts an interval, unless the previous one is not over. Does so even for an unknown identifier, so that responses do not
 * reveal it (reference: Intervals between messages).
 * @returns `undefined` if a message may be sent, otherwise the milliseconds to wait
 */
export async function touchInterval(db: Db, deps: IntervalDeps, key: IntervalKey): Promise<number | undefined> {
  const used = await useOrWait(db, deps, key)
  if (typeof used === 'number') return used
  deps.recordInterval?.(key)
  return undefined
}

/** An interval that was started before its message is stored. */
export interface ReservedInterval {
  readonly keyHash: Buffer
  readonly kind: IntervalKind
  readonly at: Date
  /** The time of the previous message, or `null` if there was none. */
  readonly before: string | null
}

/** Starts an interval before its message is sent. */
export async function reserveInterval(db: Db, deps: IntervalDeps, key: IntervalKey): Promise<ReservedInterval> {
  const reserved = await useOrWait(db, deps, key)
  return typeof reserved === 'number' ? refuseTooSoon(key, reserved) : reserved
}

/**
 * Starts an interval. Tries again if the current interval ends, or is restored, between the two statements.
 * @returns the milliseconds to wait, above 0, if the current interval is not over
 */
async function useOrWait(db: Db, deps: IntervalDeps, key: IntervalKey): Promise<ReservedInterval | number> {
  for (;;) {
    const used = await useInterval(db, deps, key)
    if (used) return used
    const waitMs = await restOfInterval(db, deps, key)
    if (waitMs) return waitMs
  }
}

/** Restores intervals to their previous state, unless a later message has started them again. */
export async function restoreIntervals(db: Db, intervals: readonly ReservedInterval[]): Promise<void> {
  for (const { keyHash, kind, at, before } of intervals) {
    const table = sql.table('send_throttle')
    const isOurs = sql`key_hash = ${keyHash} AND kind = ${kind} AND sent_at = ${at}`
    const restored = sql`UPDATE ${table} SET sent_at = ${before} WHERE ${isOurs}`
    await (before === null ? sql`DELETE FROM ${table} WHERE ${isOurs}` : restored).execute(db)
  }
}

/** Starts an interval if the previous one is over. The statement's snapshot contains the previous time. */
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

/** Returns the rest of an interval in milliseconds: 0 if it is over, `undefined` if there is none. */
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

/** The least time between two messages of a kind to an identifier, in milliseconds (reference: Intervals between messages). */
export function intervalMs({ mail, mfa, sms }: Omit<IntervalConfig, 'jwt'>, kind: IntervalKind): number {
  if (kind === 'sms') return sms.intervalMs
  if (kind === 'mfa_sms') return mfa.phone.intervalMs
  return kind === 'confirmation' ? mail.intervalMs.confirmation : mail.intervalMs.other
}

/** The stored key of an interval: a keyed hash, so that the table reveals no identifier. */
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

/** A link that an admin generates, with the kind of its token and its user. */
interface AdminLink extends Omit<IntervalKey, 'kind' | 'scope'> {
  /** `null` if the link is not for a change of email. */
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
 * Starts the interval of a link that an admin generates, if such links count. Call it after the commit: a sign-up locks the
 * interval before its user, and the caller's transaction has locked the user first.
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
 * Starts the interval of the user, who must not send mails to many addresses. Also starts that of the new address, to which many
 * users must not send mails. `POST /resend` must wait for the change too.
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
  // A resend request identifies the user by the current email or phone.
  for (const identifier of [user.email, user.phone]) {
    if (identifier !== null) await touchInterval(trx, deps, { kind, scope: 'resend', identifier, audience })
  }
}

/**
 * Starts the interval of the wanted address for a resend that anyone may request. The interval of the user must be over and is
 * not started, so that a stranger cannot delay a change by the user.
 * @returns `false` if an interval is not over
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
