import type { Pools } from '@trestle/database/pools.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { mayDo } from '@trestle/operators/operator-roles.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import { judgeRefund, type RefundLimits, refundableOf } from './refund-limits.ts'

/** The amount that a refund takes from an operator's daily quota, under the Idempotency-Key of the refund. */
export interface WantedQuota {
  readonly actorId: Operator['actor']['id']
  readonly key: string
  readonly currency: string
  /** The amount in minor units, like `daily`. */
  readonly amount: number
  /** The maximum of a UTC day. */
  readonly daily: number
}

/** Whether the quota was taken. `remaining` is the rest of the day, in minor units. */
export type QuotaVerdict =
  | { readonly verdict: 'taken' }
  | { readonly verdict: 'key-mismatch' }
  | { readonly verdict: 'exceeded'; readonly remaining: number }

type QuotaUse = Pick<WantedQuota, 'actorId' | 'key'>

/**
 * Takes a part of the operator's refund quota for today. Runs in a separate transaction before the refund. A repeat with the same
 * key takes nothing more (console reference: Refund quota).
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
 * Marks a quota as used, in the transaction of the refund. Returns `false` if the quota was given back in the meantime. The
 * caller must then not make the refund.
 */
export async function callUseQuota(trx: Trx, { actorId, key }: QuotaUse): Promise<boolean> {
  const { rows } = await sql<{ used: boolean }>`
    SELECT ${sql.table('use_allowance')}(${actorId}, ${key}) AS used`.execute(trx)
  return rows[0]?.used === true
}

/** Gives back the quota of a refused refund. Returns `false` if a repeat has used it, or if none was taken. */
export async function returnQuota(db: Db, { actorId, key }: QuotaUse): Promise<boolean> {
  const { rows } = await sql<{ returned: boolean }>`
    SELECT ${sql.table('return_allowance')}(${actorId}, ${key}) AS returned`.execute(db)
  return rows[0]?.returned === true
}

/** Returns the amount that an operator may still refund today in a currency, in minor units. */
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
  /** The maximum of one refund. */
  readonly limit: number
  /** The amount left for this UTC day. */
  readonly left: number
}

/**
 * Returns the amounts that an operator with the role support may refund now in a currency (console reference: Refund quota).
 * @returns 0 for both amounts in a currency without limits; `undefined` for other roles, which have no quota
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
  /** The Idempotency-Key of the refund. */
  readonly key: string
  /** In the currency of the transaction, in minor units. */
  readonly currency: string
  readonly amount: number
}

/**
 * The outcome of a refund under a quota. For `exceeded`, `limit` is the maximum of one refund, and `left` is the rest of the day,
 * both in minor units.
 */
export type QuotaOutcome<Done> =
  | { readonly verdict: 'not-allowed' | 'key-mismatch' }
  | { readonly verdict: 'exceeded'; readonly limit: number; readonly left: number }
  | { readonly verdict: 'done'; readonly done: Done }

/**
 * Makes a refund within the quota of its operator. Takes the quota, runs the refund, and gives the quota back if no refund with
 * this key has used it. An admin refunds without a quota.
 * @param db the database as the role of operators
 * @param refund makes the refund. It calls `use` in its transaction, and must throw if `use` returns `false`, because the quota
 * is gone.
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
    // An idempotent request makes no refund. Give its quota back, unless the first request has used that quota.
    if (!isUsed) await tryToReturn(db, use)
    return { verdict: 'done', done }
  } catch (error) {
    await tryToReturn(db, use)
    throw error
  }
}

/**
 * Gives a quota back. Ignores an error, for example from a busy database: the operator's next refund gives the quota back. The
 * result of the refund stays the same.
 */
async function tryToReturn(db: Db, use: QuotaUse): Promise<void> {
  await returnQuota(db, use).catch(() => false)
}
