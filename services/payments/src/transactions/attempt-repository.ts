import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { listTenants } from '../merchants/each-merchant.ts'

export interface AttemptKey {
  readonly merchantId: string
  readonly id: string
}

/** An attempt without a known outcome. `amount` is in minor units of `currency`. */
export interface UnsettledAttempt extends AttemptKey {
  readonly kind: string
  /** `sent`: the acquirer has not answered yet, or the process that called it has ended. */
  readonly state: 'sent' | 'unknown'
  /** `null` stands for the simulator. */
  readonly acquirer: string | null
  readonly currency: string
  readonly amount: number
  readonly created: Date
}

const columns = sql`a.merchant_id AS "merchantId", a.id, a.kind, a.state, a.request ->> 'acquirer' AS acquirer,
  a.request ->> 'currency' AS currency, (a.request ->> 'amount')::float8 AS amount, a.created`

/** Returns attempts without an outcome, oldest first. Takes no locks. With `state`, returns only attempts in that state. */
export async function listUnsettledAttempts(
  db: Db,
  { state, ageSeconds, limit }: { readonly state?: 'sent'; readonly ageSeconds: number; readonly limit: number },
): Promise<readonly UnsettledAttempt[]> {
  // Unknown attempts may remain for a long time. So write the condition in a form for which PostgreSQL uses the index.
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

/** Returns the attempt if its outcome is unknown, otherwise `undefined`. */
export async function findUnknownAttempt(
  db: Db,
  { merchantId, id }: AttemptKey,
): Promise<UnsettledAttempt | undefined> {
  const { rows } = await sql<UnsettledAttempt>`
    SELECT ${columns} FROM ${sql.table('attempts')} a
    WHERE a.merchant_id = ${merchantId} AND a.id = ${id} AND a.state = 'unknown'`.execute(db)
  return rows[0]
}

/** Searches all merchants for an attempt by its id. Returns the attempt if its outcome is unknown, otherwise `undefined`. */
export async function findUnknownAttemptById(db: Db, id: string): Promise<UnsettledAttempt | undefined> {
  for (const merchantId of await listTenants(db, id)) {
    const attempt = await findUnknownAttempt(db, { merchantId, id })
    if (attempt) return attempt
  }
  return undefined
}

/** Sets the outcome of an unknown attempt. Returns `false` if another process has already set it. */
export async function updateUnknownAttempt(
  db: Db,
  { merchantId, id }: AttemptKey,
  state: 'declined' | 'reversed',
): Promise<boolean> {
  const { rows } = await sql<{ isSettled: boolean }>`
    SELECT ${sql.table('settle_attempt')}(${merchantId}, ${id}, ${state}) AS "isSettled"`.execute(db)
  return rows[0]?.isSettled === true
}
