import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import { AMOUNT_MAX } from '../money/minor-units.ts'
import type { Move } from './currency-move.ts'
import { type Finding, INVARIANTS } from './invariants.ts'

/** A row whose fee, rate or currency differs from the merchant's terms at the time of the row. */
export interface StrayTerms {
  readonly table: 'trail_entries' | 'transactions' | 'payouts' | 'account_snapshots'
  readonly id: string
  readonly findings: readonly Finding[]
}

const STRAY_MAX = 100

/** Returns the rows of a merchant that contradict its terms, the exchange rates, or the answers of acquirers. */
export async function listStrayTerms(
  db: Db,
  merchantId: string,
  move: Move | undefined,
): Promise<readonly StrayTerms[]> {
  return [
    ...(await listRowsOfWrongMode(db, merchantId, 'transactions')),
    ...(await listRowsOfWrongMode(db, merchantId, 'payouts')),
    ...(await listUnauthorized(db, merchantId)),
    ...(await listStrangeFunding(db, merchantId, move)),
    ...(await listContradictoryEntries(db, merchantId)),
    ...(await listWrongRates(db, merchantId)),
    ...(await listWrongSnapshots(db, merchantId)),
  ]
}

async function listRowsOfWrongMode(db: Db, merchantId: string, table: 'transactions' | 'payouts') {
  const { rows } = await sql<{ id: string }>`
    SELECT r.id FROM ${sql.table(table)} r JOIN ${sql.table('merchants')} m ON m.id = r.merchant_id
    WHERE r.merchant_id = ${merchantId} AND r.test <> m.test LIMIT ${STRAY_MAX}`.execute(db)
  return rows.map(({ id }) => toStrayTerms(table, id, 'is test at a live merchant, or live at a test one'))
}

/**
 * Returns live transactions that no acquirer can have authorized. They have no acquirer or no reference of one, share their
 * authorization with another transaction, exceed the largest amount, or have an unlisted currency.
 */
async function listUnauthorized(db: Db, merchantId: string) {
  const { rows } = await sql<{ id: string; message: string }>`
    SELECT judged.id, judged.message FROM (
      SELECT t.id, CASE
        WHEN t.amount > ${AMOUNT_MAX} THEN ${`is of more than ${AMOUNT_MAX}`}
        WHEN ${sql.table('currency_exponent')}(t.currency) IS NULL THEN 'is in no listed currency'
        WHEN t.test OR NOT t.successful THEN NULL
        WHEN coalesce(t.acquirer, '') = '' OR coalesce(t.acquirer_ref, '') = '' THEN 'was authorized by no acquirer'
        WHEN EXISTS (
          SELECT FROM ${sql.table('transactions')} o
          WHERE o.merchant_id = t.merchant_id AND o.acquirer_ref = t.acquirer_ref AND o.acquirer = t.acquirer
            AND NOT o.test AND o.successful AND o.id <> t.id
        ) THEN 'has the authorization of another transaction'
      END AS message
      FROM ${sql.table('transactions')} t WHERE t.merchant_id = ${merchantId}
    ) judged WHERE judged.message IS NOT NULL ORDER BY judged.id LIMIT ${STRAY_MAX}`.execute(db)
  return rows.map(({ id, message }) => toStrayTerms('transactions', id, message))
}

/** Returns transactions whose funding currency is not the merchant's currency at the time when they moved money. */
async function listStrangeFunding(db: Db, merchantId: string, move: Move | undefined) {
  const { formerCurrency = null, journalId = null } = move ?? {}
  const { rows } = await sql<{ id: string }>`
    SELECT t.id FROM ${sql.table('transactions')} t JOIN ${sql.table('merchants')} m ON m.id = t.merchant_id
    WHERE t.merchant_id = ${merchantId} AND (CASE
      WHEN t.funding_currency = m.currency THEN NOT EXISTS (
        SELECT FROM ${sql.table('trail_entries')} e
        WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id AND e.id < ${journalId}::text
      )
      ELSE t.funding_currency = ${formerCurrency}::text AND t.id < ${journalId}::text
    END) IS NOT TRUE LIMIT ${STRAY_MAX}`.execute(db)
  const finding: Finding = [INVARIANTS.currency, 'is not in the currency that its merchant had']
  return rows.map(({ id }) => ({ table: 'transactions' as const, id, findings: [finding] }))
}

function toStrayTerms(table: StrayTerms['table'], id: string, message: string): StrayTerms {
  return { table, id, findings: [[INVARIANTS.terms, message]] }
}

/** A condition: no acquirer got the entry. Its reference proves nothing, because a client may choose the reference. */
function hasNoOperation(entry: 'a' | 'e'): RawBuilder<unknown> {
  return sql`NOT EXISTS (
    SELECT FROM ${sql.table('acquirer_operations')} own
    WHERE own.merchant_id = ${sql.raw(entry)}.merchant_id AND own.id = ${sql.raw(entry)}.id
  )`
}

/**
 * A condition for a negative entry: the acquirer rejected or did not answer the operation that the entry takes back. All such
 * entries together take back at most the amount of the operation. If the acquirer accepted the operation later, the operation
 * must also be booked again.
 */
const isRejection = sql`EXISTS (
  SELECT FROM ${sql.table('acquirer_operations')} o
  JOIN ${sql.table('trail_entries')} first ON first.merchant_id = o.merchant_id AND first.id = o.id
  WHERE o.merchant_id = e.merchant_id AND o.id = ${sql.table('reversed_entry')}(e.reference)
    AND o.transaction_id = e.transaction_id AND o.kind = e.kind
    AND (o.status IN ('rejected', 'unanswered') OR o.status = 'accepted' AND EXISTS (
      SELECT FROM ${sql.table('trail_entries')} a
      WHERE a.merchant_id = o.merchant_id AND a.transaction_id = o.transaction_id AND a.kind = o.kind AND a.amount > 0
        AND a.reference = 'accepted ' || o.id AND ${hasNoOperation('a')}
    ))
    AND first.amount >= (
      SELECT -sum(r.amount) FROM ${sql.table('trail_entries')} r
      WHERE r.merchant_id = o.merchant_id AND r.transaction_id = o.transaction_id AND r.amount < 0
        AND ${sql.table('reversed_entry')}(r.reference) = o.id
    )
)`

/** The rate of an entry. NULL if the text is not a number, because the column may have been changed by SQL. */
const rate = sql`CASE WHEN e.rate ~ '^[0-9]{1,20}([.][0-9]{1,10})?$' THEN e.rate::numeric END`

/**
 * A condition: the worth of a capture is its amount at its rate, which has ten decimal places. Several captures at one rate share
 * the worth of their sum. So the worth of each may differ by up to one unit.
 */
const isWorth = sql`abs(
  e.gross - e.amount * ${rate} * ('1e' || ${exponent('funding_currency')} - ${exponent('currency')})::numeric
) <= 1 + t.amount * ('1e' || ${exponent('funding_currency')} - ${exponent('currency')} - 10)::numeric`

/** A condition: a capture that was taken back and then accepted has the worth of the entry that took it back. */
const isBookedAgain = sql`e.gross = (
  SELECT -sum(r.gross) FROM ${sql.table('trail_entries')} r
  WHERE r.merchant_id = e.merchant_id AND r.transaction_id = e.transaction_id AND r.kind = e.kind AND r.amount < 0
    AND e.reference = 'accepted ' || ${sql.table('reversed_entry')}(r.reference)
) AND ${hasNoOperation('e')}`

function exponent(column: 'currency' | 'funding_currency'): RawBuilder<unknown> {
  return sql`${sql.table('currency_exponent')}(${sql.raw(`t.${column}`)})`
}

async function listContradictoryEntries(db: Db, merchantId: string): Promise<readonly StrayTerms[]> {
  const { rows } = await sql<{ id: string; message: string }>`
    SELECT * FROM (
      SELECT e.id, CASE
        WHEN e.amount < 0 OR e.amount = 0 AND e.kind NOT IN ('disputeWon', 'disputeLost') THEN CASE WHEN ${isRejection} THEN NULL
          ELSE 'takes back what no acquirer has rejected or left unanswered' END
        WHEN least(e.gross, e.fee_flat, e.fee_rate) < 0 THEN 'its worth or a fee is negative'
        WHEN e.kind <> 'capture' THEN NULL
        WHEN t.currency = t.funding_currency AND (e.gross <> e.amount OR num_nonnulls(e.rate, e.rate_date) > 0)
          THEN 'is exchanged within one currency'
        WHEN t.currency <> t.funding_currency AND (${isWorth}) IS NOT TRUE AND (${isBookedAgain}) IS NOT TRUE
          THEN 'is not worth its amount at its rate'
      END AS message
      FROM ${sql.table('trail_entries')} e
      JOIN ${sql.table('transactions')} t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
      WHERE e.merchant_id = ${merchantId}
    ) judged WHERE message IS NOT NULL LIMIT ${STRAY_MAX}`.execute(db)
  return rows.map(({ id, message }) => toStrayTerms('trail_entries', id, message))
}

/**
 * Returns captures whose rate cannot be computed from two rates of its day and a margin in whole basis points. The euro has a
 * rate on each day. The kuna and the lev have fixed rates after their last day. A rate that an import replaced is valid too: the
 * audit entry of the import contains it. On a cluster, the two subqueries run one after the other. The captures are read first.
 * Otherwise an import between the two reads could add a rate that the check does not know.
 */
async function listWrongRates(db: Db, merchantId: string): Promise<readonly StrayTerms[]> {
  const found = (currency: RawBuilder<unknown>) => sql`
    SELECT k.rate, k.date FROM known k WHERE k.currency = ${currency} AND k.rate > 0
    UNION ALL SELECT 1, NULL WHERE ${currency} = 'EUR'
    UNION ALL SELECT f.rate, NULL FROM ${sql.table('fixed_rate')}(${currency}, u.day) f (rate) WHERE f.rate IS NOT NULL`
  const { rows } = await sql<{ id: string }>`
    WITH used AS MATERIALIZED (
      SELECT min(e.id) AS id, t.currency, t.funding_currency AS own, ${rate} AS rate, e.rate_date,
        (e.created AT TIME ZONE 'UTC')::date AS day
      FROM ${sql.table('trail_entries')} e
      JOIN ${sql.table('transactions')} t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
      WHERE e.merchant_id = ${merchantId} AND e.kind = 'capture' AND e.amount > 0 AND t.currency <> t.funding_currency
      GROUP BY 2, 3, 4, 5, 6
    ), known AS MATERIALIZED (
      SELECT f.currency, f.date, f.rate FROM ${sql.table('fx_rates')} f
      UNION
      SELECT r.currency, r.date, r."from" FROM ${sql.table('audit')} a
      CROSS JOIN jsonb_to_recordset(a.payload -> 'rates') AS r (currency text, date date, "from" numeric)
      WHERE a.merchant_id = repeat('0', 24) AND a.action = 'fx.replaced'
    )
    SELECT u.id FROM used u WHERE NOT EXISTS (
      SELECT FROM (${found(sql`u.currency`)}) sold, (${found(sql`u.own`)}) bought
      CROSS JOIN LATERAL (
        SELECT least(greatest(10000 - round(u.rate * sold.rate * 10000 / bought.rate), 0), 10000) AS margin
      ) nearest
      WHERE (least(sold.date, bought.date, CASE WHEN num_nonnulls(sold.date, bought.date) = 0 THEN u.day END) = u.rate_date
          OR u.rate_date = u.day AND 'EUR' IN (u.currency, u.own) AND u.rate_date < ALL (
            SELECT k.date FROM known k WHERE k.currency IN (u.currency, u.own)
          ))
        AND abs(u.rate - bought.rate * (10000 - nearest.margin) / (sold.rate * 10000)) <= 1e-10
    ) LIMIT ${STRAY_MAX}`.execute(db)
  return rows.map(({ id }) =>
    toStrayTerms('trail_entries', id, 'its rate is none of its day with a margin of 0 or more'),
  )
}

/** Returns snapshots of unfinished days, and those that differ from the previous snapshot plus the entries since. */
async function listWrongSnapshots(db: Db, merchantId: string): Promise<readonly StrayTerms[]> {
  const endOf = (date: RawBuilder<unknown>) => sql`${sql.table('first_id')}((${date} + 1) AT TIME ZONE 'UTC')`
  const { rows } = await sql<{ id: string; isOver: boolean }>`
    SELECT concat_ws(' ', s.account, s.currency, s.date) AS id, s.date < (now() AT TIME ZONE 'UTC')::date AS "isOver" FROM (
      SELECT a.*, lag(a.sum) OVER days AS sum_before, lag(a.date) OVER days AS date_before
      FROM ${sql.table('account_snapshots')} a WHERE a.merchant_id = ${merchantId}
      WINDOW days AS (PARTITION BY a.account, a.currency, a.test ORDER BY a.date)
    ) s
    WHERE s.date >= (now() AT TIME ZONE 'UTC')::date OR s.sum IS DISTINCT FROM coalesce(s.sum_before, 0) + coalesce((
      SELECT sum(e.amount) FROM ${sql.table('entries')} e
      WHERE e.merchant_id = ${merchantId} AND e.account = s.account AND e.currency = s.currency AND e.test = s.test
        AND e.journal_id >= coalesce(${endOf(sql`s.date_before`)}, '') AND e.journal_id < ${endOf(sql`s.date`)}
    ), 0)
    ORDER BY 1 LIMIT ${STRAY_MAX}`.execute(db)
  return rows.map(({ id, isOver }) => ({
    table: 'account_snapshots',
    id,
    findings: [[INVARIANTS.snapshots, isOver ? 'is not the sum of its entries' : 'is of a day that is not over']],
  }))
}
