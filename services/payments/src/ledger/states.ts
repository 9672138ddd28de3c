import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { type Finding, INVARIANTS } from './invariants.ts'

/**
 * The columns of a row by their effect. `money` columns move money, `party` columns name the payer or recipient, and `terms`
 * columns do neither. The prefix `i.` marks columns of the transaction's card.
 */
export interface StateColumns {
  readonly money: readonly string[]
  readonly party: readonly string[]
  readonly terms: readonly string[]
}

/** The tables whose rows are recorded. The columns of each digest are in the order of the SQL function `row_digests`. */
export const STATES = {
  merchants: {
    money: ['r.currency', 'r.test', 'r.acquirer', 'r.claim', 'r.pricing'],
    party: ['r.iban', 'r.holder', 'r.name', 'r.website', 'r.country', 'r.company_number'],
    terms: ['r.created', 'r.tag', 'r.key', 'r.email', 'r.descriptor', 'r.tds_mode'],
  },
  transactions: {
    money: ['r.test', 'r.currency', 'r.funding_currency', 'r.amount', 'r.successful', 'r.acquirer', 'r.acquirer_ref'],
    party: [
      'r.instrument_id',
      'r.source_id',
      'r.last4',
      'i.bin',
      'i.last4',
      'i.expiry',
      'i.scheme',
      'i.scenario',
      'i.network_ref',
      'i.planned',
    ],
    terms: [
      'r.created',
      'r.descriptor',
      'r.reference',
      'r.custom',
      'r.tds',
      'r.recurring',
      'r.error_code',
      'r.plan',
      'r.unplanned',
      'r.code_present',
      'r.session_id',
      'r.disputed_at_capture',
    ],
  },
  cards: {
    money: ['r.transaction_id'],
    party: ['r.instrument_id', 'r.deleted'],
    terms: ['r.created', 'r.notes'],
  },
  disputes: {
    money: ['r.transaction_id', 'r.amount', 'r.currency', 'r.status', 'r.covered', 'r.excess', 'r.excess_gross'],
    party: ['r.acquirer_ref'],
    terms: ['r.created', 'r.reason_code', 'r.reason_title', 'r.due', 'r.resolved'],
  },
  // Only answered operations are recorded, because open operations follow from the trail. The answer decides whether a capture is
  // paid out.
  acquirer_operations: {
    money: ['r.kind', 'r.status'],
    party: ['r.transaction_id'],
    terms: ['r.reason', 'r.answered'],
  },
  // A merchant's exceptions are recorded from the first exception that holds back money.
  acquirer_exceptions: {
    money: ['r.reserved', 'r.resolved'],
    party: ['r.payload'],
    terms: ['r.created'],
  },
  payouts: {
    money: ['r.date', 'r.test', 'r.amount', 'r.currency', 'r.status', 'r.line_id'],
    party: ['r.iban'],
    terms: ['r.created'],
  },
} as const satisfies Readonly<Record<string, StateColumns>>

/** A table whose rows the chain of states records. */
export type RecordedTable = keyof typeof STATES

/** A row that differs from its last recorded state, or has no unique id. */
export interface ChangedRow {
  readonly table: RecordedTable
  readonly id: string
  readonly findings: readonly Finding[]
}

const CHANGED_MAX = 100

/**
 * Returns the rows of a merchant, its own row included, that differ from their last recorded state or have none. Also returns
 * recorded rows that were deleted. At most a hundred of each kind are returned per table. PostgreSQL compares the rows, so only
 * the differing rows are read.
 */
export async function listChangedRows(db: Db, merchantId: string): Promise<readonly ChangedRow[]> {
  const changed: ChangedRow[] = []
  // TypeScript gives `Object.keys` the type `string[]`.
  for (const table of Object.keys(STATES) as RecordedTable[]) {
    changed.push(...(await listDiffering(db, merchantId, table)))
    if (table !== 'merchants') changed.push(...(await listDeletedRows(db, merchantId, table)))
  }
  return [...changed, ...(await listRedirectedPayouts(db, merchantId)), ...(await listStrayOperations(db, merchantId))]
}

/** Compares rows with their last recorded state. @throws Error if a row differs */
export async function expectRecorded(
  db: Db,
  merchantId: string,
  table: RecordedTable,
  ids: readonly string[],
): Promise<void> {
  await sql`SELECT ${sql.table('expect_recorded')}(${merchantId}, ${table}, ${ids}::text[])`.execute(db)
}

interface DifferingRow {
  readonly id: string
  readonly isRecorded: boolean
  readonly money: boolean
  readonly party: boolean
  readonly terms: boolean
}

async function listDiffering(db: Db, merchantId: string, table: RecordedTable) {
  const digest = (kind: keyof StateColumns) =>
    sql`coalesce(sha256(record_send(ROW(${sql.raw(STATES[table][kind].join())}))) = s.${sql.ref(kind)}, false)`
  const card = sql`
    LEFT JOIN ${sql.table('instruments')} i ON i.merchant_id = r.merchant_id AND i.id = r.instrument_id`
  const tenant = table === 'merchants' ? sql`r.id` : sql`r.merchant_id`
  const { rows } = await sql<DifferingRow>`
    SELECT id, "isRecorded", money, party, terms FROM (
      SELECT r.id, s.hash IS NOT NULL AS "isRecorded", ${digest('money')} AS money, ${digest('party')} AS party,
        ${digest('terms')} AS terms
      FROM ${sql.table(table)} r ${table === 'transactions' ? card : sql``}
      LEFT JOIN LATERAL (
        SELECT e.money, e.party, e.terms, e.hash FROM ${sql.table('state_entries')} e
        WHERE e.merchant_id = ${merchantId} AND e.table_name = ${table} AND e.row_id = r.id AND e.id > ''
        ORDER BY e.id DESC LIMIT 1
      ) s ON true
      WHERE ${tenant} = ${merchantId} AND (${recordedRows(table)} OR s.hash IS NOT NULL)
    ) compared
    WHERE NOT (money AND party AND terms) LIMIT ${CHANGED_MAX}`.execute(db)
  return rows.map(({ id, ...state }): ChangedRow => ({ table, id, findings: describe(table, state) }))
}

function recordedRows(table: RecordedTable) {
  if (table === 'acquirer_operations') return sql`r.status <> 'open'`
  return table === 'acquirer_exceptions' ? sql`r.reserved IS DISTINCT FROM 0` : sql`true`
}

function describe(table: RecordedTable, row: Omit<DifferingRow, 'id'>): readonly Finding[] {
  if (!row.isRecorded) return [[INVARIANTS.recordedRows, 'was never recorded: it was put in by hand']]
  const columnsOf = (kind: keyof StateColumns) =>
    STATES[table][kind].map((column) => column.replace('r.', '').replace('i.', "the card's ")).join(', ')
  return [
    ...(row.money
      ? []
      : [[INVARIANTS.recordedRows, `what moves money was changed: one of ${columnsOf('money')}`] as const]),
    ...(row.party
      ? []
      : [[INVARIANTS.recordedRows, `who gets or pays money was changed: one of ${columnsOf('party')}`] as const]),
    ...(row.terms ? [] : [[INVARIANTS.recordedRows, `its terms were changed: one of ${columnsOf('terms')}`] as const]),
  ]
}

async function listDeletedRows(db: Db, merchantId: string, table: RecordedTable) {
  const { rows } = await sql<{ id: string }>`
    SELECT DISTINCT e.row_id AS id FROM ${sql.table('state_entries')} e
    WHERE e.merchant_id = ${merchantId} AND e.table_name = ${table}
      AND NOT EXISTS (SELECT FROM ${sql.table(table)} r WHERE r.merchant_id = e.merchant_id AND r.id = e.row_id)
    LIMIT ${CHANGED_MAX}`.execute(db)
  return rows.map(
    ({ id }): ChangedRow => ({ table, id, findings: [[INVARIANTS.recordedRows, 'was recorded and is gone']] }),
  )
}

/**
 * Returns payouts whose bank account was recorded with two values. A payout must keep its first account. Without this check, an
 * account changed by SQL would be recorded with the next legitimate change and then look correct.
 */
async function listRedirectedPayouts(db: Db, merchantId: string): Promise<readonly ChangedRow[]> {
  const { rows } = await sql<{ id: string }>`
    SELECT e.row_id AS id FROM ${sql.table('state_entries')} e
    WHERE e.merchant_id = ${merchantId} AND e.table_name = 'payouts'
    GROUP BY e.row_id HAVING count(DISTINCT e.party) > 1 LIMIT ${CHANGED_MAX}`.execute(db)
  return rows.map(
    ({ id }): ChangedRow => ({
      table: 'payouts',
      id,
      findings: [[INVARIANTS.recordedRows, 'was recorded with two accounts']],
    }),
  )
}

/**
 * Returns operations without a matching trail entry, and trail entries that lack an operation. Each live capture, refund and void
 * that was sent to an acquirer must have an operation. Otherwise money that no acquirer accepted could be paid out. An entry that
 * books a rejected operation again has no operation of its own, because the acquirer already has the first one.
 */
async function listStrayOperations(db: Db, merchantId: string): Promise<readonly ChangedRow[]> {
  const { rows } = await sql<{ id: string; isMissing: boolean }>`
    SELECT coalesce(o.id, e.id) AS id, o.id IS NULL AS "isMissing" FROM (
      SELECT e.id, e.transaction_id, e.kind, EXISTS (
        SELECT FROM ${sql.table('trail_entries')} r
        WHERE r.merchant_id = ${merchantId} AND r.transaction_id = e.transaction_id AND r.kind = e.kind AND r.amount < 0
          AND e.reference = 'accepted ' || ${sql.table('reversed_entry')}(r.reference)
      ) AS is_repeat, EXISTS (
        -- A client may choose a reference that looks like the reference of an entry which was booked again. Only the service writes the
        -- description of a line.
        SELECT FROM ${sql.table('lines')} l
        WHERE l.merchant_id = ${merchantId} AND l.id = e.line_id AND left(l.description, 9) = 'Accepted '
      ) AS is_booked_again, e.line_id IS NULL AND EXISTS (
        -- A void has no line. It is booked again once, after its acquirer has accepted what was taken back.
        SELECT FROM ${sql.table('acquirer_operations')} a
        WHERE a.merchant_id = ${merchantId} AND e.reference = 'accepted ' || a.id AND a.status = 'accepted'
      ) AND NOT EXISTS (
        SELECT FROM ${sql.table('trail_entries')} other
        WHERE other.merchant_id = ${merchantId} AND other.transaction_id = e.transaction_id AND other.kind = e.kind
          AND other.reference = e.reference AND other.amount > 0 AND other.id <> e.id AND NOT EXISTS (
            SELECT FROM ${sql.table('acquirer_operations')} own WHERE own.merchant_id = ${merchantId} AND own.id = other.id
          )
      ) AS is_void_again
      FROM ${sql.table('trail_entries')} e
      JOIN ${sql.table('transactions')} t
        ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id AND NOT t.test AND t.acquirer_ref IS NOT NULL
      WHERE e.merchant_id = ${merchantId} AND e.kind IN ('capture', 'refund', 'void') AND e.amount > 0
    ) e
    FULL JOIN (SELECT * FROM ${sql.table('acquirer_operations')} WHERE merchant_id = ${merchantId}) o ON o.id = e.id
    WHERE CASE
      WHEN o.id IS NULL THEN NOT (e.is_repeat AND (e.is_booked_again OR e.is_void_again))
      ELSE e.is_repeat AND e.is_booked_again OR (o.transaction_id, o.kind) IS DISTINCT FROM (e.transaction_id, e.kind)
        OR o.status = 'open' AND num_nonnulls(o.reason, o.answered) > 0
    END
    LIMIT ${CHANGED_MAX}`.execute(db)
  return rows.map(({ id, isMissing }): ChangedRow => {
    const message = isMissing ? 'is gone: its trail entry was handed to an acquirer' : 'is not that of its trail entry'
    return { table: 'acquirer_operations', id, findings: [[INVARIANTS.recordedRows, message]] }
  })
}
