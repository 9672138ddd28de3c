import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { mayDo } from '@trestle/operators/operator-roles.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import { judgeRefund, type RefundLimits, refundableOf } from './refund-limits.ts'

/** The amount that a refund takes of the quota of an operator for a day, under the Idempotency-Key of the refund. */
export interface WantedQuota {
  readonly actorId: Operator['actor']['id']
  readonly key: string
  readonly currency: string
  /** In minor units, as `daily`. */
  readonly amount: number
  /** The most of a UTC day. */
  readonly daily: number
}

/** Whether a part of the day was taken; otherwise the rest of the day, in minor units. */
export type QuotaVerdict =
  | { readonly verdict: 'taken' }
  | { readonly verdict: 'key-mismatch' }
  | { readonly verdict: 'exceeded'; readonly remaining: number }

type QuotaUse = Pick<WantedQuota, 'actorId' | 'key'>

/**
 * Takes a part of the refund quota of an operator for today, in a transaction of its own, before the refund is made.
 * A repeat with the same key takes nothing more (console reference: Refund quota).
 * @param db the database as the role of operators
 */
export async function claimQuota(db: Db, wanted: WantedQuota): Promise<QuotaVerdict> {
  const { actorId, key, currency, amount, daily } = wanted
  const { rows } = await sql<{ verdict: QuotaVerdict['verdict']; remaining: bigint | null }>`
    SELECT * FROM ${sql.table('take_allowance')}(
      ${actorId}, ${key}, ${currency}, ${amount}::bigint, ${daily}::bigint
    )`.execute(db)
  const { verdict, remaining } = rows[0] ?? { verdict: 'key-mismatch', remaining: null }
  return verdict === 'exceeded' ? { verdict, remaining: Number(remaining ?? 0) } : { verdict }
}

/**
 * Marks a quota as used, in the transaction of the refund. False when it was given back since: then the refund must not be
 * made.
 */
export async function callUseQuota(trx: Trx, { actorId, key }: QuotaUse): Promise<boolean> {
  const { rows } = await sql<{ used: boolean }>`
    SELECT ${sql.table('use_allowance')}(${actorId}, ${key}) AS used`.execute(trx)
  return rows[0]?.used === true
}

/** Gives back the part of the quota that a refused refund has taken. False when a repeat has used it meanwhile, or when nothing was taken. */
export async function returnQuota(db: Db, { actorId, key }: QuotaUse): Promise<boolean> {
  const { rows } = await sql<{ returned: boolean }>`
    SELECT ${sql.table('return_allowance')}(${actorId}, ${key}) AS returned`.execute(db)
  return rows[0]?.returned === true
}

/** The amount that an operator may still refund today in a currency, in minor units. */
async function findQuotaLeft(
  db: Db,
  { actorId, currency, daily }: Pick<WantedQuota, 'actorId' | 'currency' | 'daily'>,
): Promise<number> {
  const { rows } = await takenToday({ actorId, currency }).execute(db)
  return refundableOf(daily - Number(rows[0]?.taken ?? 0), daily)
}

const takenQuery = prepareOnCoordinator('allowance_taken', takenToday)

function takenToday(p: { actorId: string; currency: string }): RawBuilder<{ taken: bigint }> {
  return sql`
    SELECT o.taken FROM ${sql.table('operator_allowances')} o
    WHERE o.actor_id = ${p.actorId} AND o.currency = ${p.currency} AND o.day = (now() AT TIME ZONE 'UTC')::date`
}

/** The amounts that an operator with the role support may refund in a currency, in minor units. */
export interface ShownQuota {
  /** The most of one refund. */
  readonly limit: number
  /** The amount that is left of the UTC day. */
  readonly left: number
}

/**
 * Finds the amounts that an operator with the role support may refund now in a currency (console reference: Refund quota).
 * @returns twice 0 in a currency without limits; undefined for other roles, which no quota limits
 */
export async function findShownQuota(
  { read }: Pools,
  limits: RefundLimits,
  { operator, currency }: Pick<AllowedRefund, 'operator' | 'currency'>,
): Promise<ShownQuota | undefined> {
  const { actor, role } = operator
  if (role !== 'support') return undefined
  const [limit, daily] = [limits.once.get(currency), limits.daily.get(currency)]
  if (limit === undefined || daily === undefined) return { limit: 0, left: 0 }
  const row = await read.first(takenQuery, { actorId: actor.id, currency })
  return { limit, left: refundableOf(daily - Number(row?.taken ?? 0), daily) }
}

export interface AllowedRefund {
  readonly operator: Operator
  /** The Idempotency-Key. */
  readonly key: string
  /** In the currency of the transaction, in minor units. */
  readonly currency: string
  readonly amount: number
}

/**
 * The outcome of a refund under a quota. `exceeded`: `limit` is the most of one refund, `left` the rest
 * of the day, in minor units.
 */
export type QuotaOutcome<Done> =
  | { readonly verdict: 'not-allowed' | 'key-mismatch' }
  | { readonly verdict: 'exceeded'; readonly limit: number; readonly left: number }
  | { readonly verdict: 'done'; readonly done: Done }

/**
 * Makes a refund within the quota of its operator: takes the quota, runs the refund, and gives the
 * quota back unless the refund, now or by an earlier request with the same key, has used it. An admin
 * refunds without a quota.
 * @param db the database as the role of operators
 * @param refund makes the refund. In its transaction it calls `use`, which answers false when the quota is gone: then it must
 * throw
 * @throws every error of `refund`
 */
export async function runWithinQuota<Done>(
  db: Db,
  limits: RefundLimits,
  { operator, key, currency, amount }: AllowedRefund,
  refund: (use: (trx: Trx) => Promise<boolean>) => Promise<Done>,
): Promise<QuotaOutcome<Done>> {
  const { actor, role } = operator
  if (mayDo(role, 'transactions.refund-beyond-limits')) {
    return { verdict: 'done', done: await refund(async () => true) }
  }
  const judged = judgeRefund(limits, { currency, amount })
  if (judged.verdict === 'not-allowed') return judged
  const { limit, daily } = judged
  const use = { actorId: actor.id, key }
  if (judged.verdict === 'exceeded') {
    return { verdict: 'exceeded', limit, left: await findQuotaLeft(db, { actorId: actor.id, currency, daily }) }
  }
  const claimed = await claimQuota(db, { ...use, currency, amount: judged.counted, daily })
  if (claimed.verdict === 'exceeded')
    return { verdict: 'exceeded', limit, left: refundableOf(claimed.remaining, daily) }
  if (claimed.verdict === 'key-mismatch') return claimed
  let isUsed = false
  try {
    const done = await refund(async (trx) => {
      isUsed = await callUseQuota(trx, use)
      return isUsed
    })
    // A repeat that gets an old answer makes no refund. What it took stays taken only if the first request has used it.
    if (!isUsed) await tryToReturn(db, use)
    return { verdict: 'done', done }
  } catch (error) {
    await tryToReturn(db, use)
    throw error
  }
}

/**
 * Gives a quota back, unless the database is busy: then the operator's next refund does it. The answer
 * stays that of the refund.
 */
async function tryToReturn(db: Db, use: QuotaUse): Promise<void> {
  await returnQuota(db, use).catch(() => false)
}
