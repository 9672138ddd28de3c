import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { listTenants } from '../merchants/each-merchant.ts'

/** The identity of an attempt among the attempts of all merchants. */
export interface AttemptKey {
  readonly merchantId: string
  readonly id: string
}

/** An attempt without a known outcome. `amount` is in minor units of `currency`. */
export interface UnsettledAttempt extends AttemptKey {
  readonly kind: string
  /** `sent`: the acquirer has not answered yet, or the process that asked it has ended. */
  readonly state: 'sent' | 'unknown'
  /** Null: the simulator. */
  readonly acquirer: string | null
  readonly currency: string
  readonly amount: number
  readonly created: Date
}

const columns = sql`a.merchant_id AS "merchantId", a.id, a.kind, a.state, a.request ->> 'acquirer' AS acquirer,
  a.request ->> 'currency' AS currency, (a.request ->> 'amount')::float8 AS amount, a.created`

/** Attempts without an outcome, oldest first, read without locks. With `state`, only attempts in that state. */
export async function listUnsettledAttempts(
  db: Db,
  { state, ageSeconds, limit }: { readonly state?: 'sent'; readonly ageSeconds: number; readonly limit: number },
): Promise<readonly UnsettledAttempt[]> {
  // Unknown attempts may stay for long, so the condition is one that the index answers.
  const ofState = state === undefined ? sql`true` : sql`a.state = ${sql.lit(state)}`
  const { rows } = await sql<UnsettledAttempt>`
    SELECT ${columns} FROM ${sql.table('attempts')} a
    WHERE a.state IN ('sent', 'unknown') AND ${ofState} AND a.created < now() - ${ageSeconds} * interval '1 second'
    ORDER BY a.created, a.id LIMIT ${limit}`.execute(db)
  return rows
}

export async function countUnknownAttempts(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*)::int AS count FROM ${sql.table('attempts')} a
    WHERE a.state IN ('sent', 'unknown') AND a.state = 'unknown'`.execute(db)
  return rows[0]?.count ?? 0
}

/** The attempt, if its outcome is unknown; else undefined. */
export async function findUnknownAttempt(
  db: Db,
  { merchantId, id }: AttemptKey,
): Promise<UnsettledAttempt | undefined> {
  const { rows } = await sql<UnsettledAttempt>`
    SELECT ${columns} FROM ${sql.table('attempts')} a
    WHERE a.merchant_id = ${merchantId} AND a.id = ${id} AND a.state = 'unknown'`.execute(db)
  return rows[0]
}

/** The attempt with an id, of any merchant, if its outcome is unknown; else undefined. */
export async function findUnknownAttemptById(db: Db, id: string): Promise<UnsettledAttempt | undefined> {
  for (const merchantId of await listTenants(db, id)) {
    const attempt = await findUnknownAttempt(db, { merchantId, id })
    if (attempt) return attempt
  }
  return undefined
}

/** Sets the outcome of an unknown attempt. False when another process was first. */
export async function updateUnknownAttempt(
  db: Db,
  { merchantId, id }: AttemptKey,
  state: 'declined' | 'reversed',
): Promise<boolean> {
  const { rows } = await sql<{ isSettled: boolean }>`
    SELECT ${sql.table('settle_attempt')}(${merchantId}, ${id}, ${state}) AS "isSettled"`.execute(db)
  return rows[0]?.isSettled === true
}
