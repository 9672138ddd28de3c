// Why: what the acquirer has not accepted is not the merchant's yet. Every live capture, refund and void is open until the
// acquirer has answered, and payouts leave open captures out.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { editFunction, type FunctionEdit } from './edit-function.ts'
import { merchantRow } from './merchant-rows.ts'

async function createOperations(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('acquirer_operations')} (${merchantRow(names, 'acquirer_operations')},
      transaction_id text COLLATE "C" NOT NULL,
      kind text NOT NULL,
      status text NOT NULL DEFAULT 'open',
      reason text,
      answered timestamptz(3),
      CONSTRAINT ${names.local('operations_kind_ck')} CHECK (kind IN ('capture', 'refund', 'void')),
      CONSTRAINT ${names.local('operations_status_ck')} CHECK (status IN ('open', 'accepted', 'rejected', 'unanswered')),
      CONSTRAINT ${names.local('operations_answered_ck')} CHECK ((answered IS NULL) = (status = 'open'))
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('acquirer_operations')}.id IS 'that of the trail entry'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('operations_open_ix')} ON ${names.id('acquirer_operations')} (merchant_id, id)
      WHERE status = 'open'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('operations_age_ix')} ON ${names.id('acquirer_operations')} (created, merchant_id)
      WHERE status = 'open'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('operations_rejected_ix')} ON ${names.id('acquirer_operations')}
      (merchant_id, transaction_id) WHERE status IN ('rejected', 'unanswered')`.execute(db)
}

/**
 * An operation is open from the moment at which it is handed over. A transaction that no acquirer authorized has nobody who
 * could accept it.
 */
async function openOperations(db: Kysely<unknown>, names: Names): Promise<void> {
  const opened = (row: string) => sql`
    INSERT INTO ${names.id('acquirer_operations')} (merchant_id, id, created, transaction_id, kind)
    SELECT e.merchant_id, e.id, e.created, e.transaction_id, e.kind
    FROM ${names.id('trail_entries')} e
    JOIN ${names.id('transactions')} t
      ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id AND t.acquirer_ref IS NOT NULL
    WHERE e.merchant_id = ${sql.raw(row)}.merchant_id AND e.id = ${sql.raw(row)}.id
    ON CONFLICT DO NOTHING`
  await sql`
    CREATE FUNCTION ${names.id('open_operation')}() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
    BEGIN
      ${opened('NEW')};
      RETURN NULL;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('outbox_operation')} AFTER INSERT ON ${names.id('outbox')}
    FOR EACH ROW WHEN (NEW.kind = 'acquirer') EXECUTE FUNCTION ${names.id('open_operation')}()`.execute(db)
  await sql`
    DO $$ DECLARE waiting record; BEGIN
      FOR waiting IN SELECT o.merchant_id, o.id FROM ${names.id('outbox')} o WHERE o.kind = 'acquirer' LOOP
        ${opened('waiting')};
      END LOOP;
    END $$`.execute(db)
}

/** Entries of negative amount take others back. Their gross may have either sign: rates differ from capture to capture. */
async function admitNegativeEntries(db: Kysely<unknown>, names: Names): Promise<void> {
  await replaceCheck(db, names, {
    table: 'trail_entries',
    name: 'trail_entries_amount_ck',
    rule: sql`amount > 0 AND gross >= 0 OR amount < 0 AND coalesce(left(reference, 9), '') = 'rejected '`,
  })
  // A full trail of 10000 entries, all of which the acquirer rejects, in parts.
  await replaceCheck(db, names, {
    ...{ table: 'transactions', name: 'transactions_trail_ck', rule: sql`trail_length BETWEEN 0 AND 40000` },
  })
}

interface Check {
  readonly table: string
  readonly name: string
  readonly rule: ReturnType<typeof sql>
}

/** Both new rules allow more than the old ones, so rows that exist are not read again. */
async function replaceCheck(db: Kysely<unknown>, names: Names, { table, name, rule }: Check): Promise<void> {
  await sql`ALTER TABLE ${names.id(table)} DROP CONSTRAINT ${names.local(name)}`.execute(db)
  await sql`ALTER TABLE ${names.id(table)} ADD CONSTRAINT ${names.local(name)} CHECK (${rule}) NOT VALID`.execute(db)
}

/**
 * What is left of each capture, in order, without what the acquirer has rejected of it; p_less units of capture p_id are
 * about to be. A part keeps its share of what the capture brought. @see docs/reference/payments-rejections.md
 */
async function createNetCaptures(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('net_captures')}(p_merchant_id text, p_transaction_id text, p_id text, p_less bigint)
    RETURNS TABLE (amounts bigint[], grosses bigint[]) LANGUAGE sql STABLE AS $$
      SELECT array_agg(c.rest ORDER BY c.seq), array_agg(
        c.gross - ${names.id('round_half_even')}(c.gross::numeric * (c.amount - c.rest), c.amount) ORDER BY c.seq
      )
      FROM (
        SELECT min(e.seq) AS seq, max(e.amount) AS amount, max(e.gross) FILTER (WHERE e.amount > 0) AS gross,
          (sum(e.amount) - CASE WHEN min(e.id) FILTER (WHERE e.amount > 0) = p_id THEN p_less ELSE 0 END)::bigint AS rest
        FROM ${names.id('trail_entries')} e
        WHERE e.merchant_id = p_merchant_id AND e.transaction_id = p_transaction_id AND e.kind = 'capture'
        GROUP BY CASE WHEN e.amount < 0 THEN right(e.reference, 24) ELSE e.id END
      ) c
      WHERE c.rest > 0
    $$`.execute(db)
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('reversal_gross')}(
      p_merchant_id text, p_transaction_id text, p_reversed bigint, p_amount bigint
    ) RETURNS bigint LANGUAGE sql STABLE AS $$
      SELECT ${names.id('captured_value')}(c.amounts, c.grosses, p_reversed + p_amount)
        - ${names.id('captured_value')}(c.amounts, c.grosses, p_reversed)
      FROM ${names.id('net_captures')}(p_merchant_id, p_transaction_id, NULL, 0) c
    $$`.execute(db)
}

/**
 * Captures that are in the balance and not due: younger than the delay, or open. Those of them that were taken back do not
 * count, whenever that was.
 */
async function holdBackOpenCaptures(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('not_yet_due')}(p_merchant_id text, p_since timestamptz) RETURNS bigint
    LANGUAGE sql STABLE AS $$
      SELECT ((
        SELECT coalesce(sum(l.balance), 0) FROM ${names.id('lines')} l
        WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.amount > 0 AND l.id >= due.first_id
      ) + (
        SELECT coalesce(sum(e.balance), 0)
        FROM ${names.id('lines')} l
        JOIN ${names.id('trail_entries')} e
          ON e.merchant_id = p_merchant_id AND e.transaction_id = l.transaction_id AND e.line_id = l.id
        WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.amount < 0 AND l.id >= due.first_id
          AND right(e.reference, 24) >= due.first_id
      ) + (
        SELECT coalesce(sum(e.balance), 0)
        FROM ${names.id('acquirer_operations')} o
        JOIN ${names.id('trail_entries')} e ON e.merchant_id = p_merchant_id AND e.id = o.id
        WHERE o.merchant_id = p_merchant_id AND o.status = 'open' AND o.kind = 'capture' AND e.line_id < due.first_id
      ))::bigint
      FROM (SELECT ${names.id('first_id')}(p_since + interval '1 millisecond')) AS due (first_id)
    $$`.execute(db)
}

/** What `post` and `move_many` must know of entries that take others back, and the text that it replaces. */
function edits(names: Names): readonly (FunctionEdit & { readonly back: Omit<FunctionEdit, 'name'> })[] {
  const id = (name: string) => `"${names.schema}"."${names.prefix}${name}"`
  const captures = `SELECT array_agg(e.amount ORDER BY e.seq), array_agg(e.gross ORDER BY e.seq)
                FROM ${id('trail_entries')} e
                WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id AND e.kind = 'capture'`
  const netCaptures = `SELECT n.amounts, n.grosses FROM ${id('net_captures')}(t.merchant_id, t.id, NULL, 0) n`
  const handOver = "IF NOT m.test AND m.kind IN ('capture', 'refund', 'void') THEN"
  const handOverNew = "IF NOT m.test AND m.amount > 0 AND m.kind IN ('capture', 'refund', 'void') THEN"
  const event = "created, CASE m.kind\n                WHEN 'capture'"
  const eventNew =
    "created, CASE CASE WHEN m.amount < 0 THEN 'rejected' ELSE m.kind END\n                WHEN 'rejected' THEN 'transaction.rejected'\n                WHEN 'capture'"
  return [
    swap('move_many', captures, netCaptures),
    swap('move_many', 'WHEN t.trail_length = 10000 THEN', 'WHEN t.trail_length >= 10000 THEN'),
    swap('post', handOver, handOverNew),
    swap('post', event, eventNew),
  ]
}

function swap(name: string, before: string, after: string) {
  return { name, from: place(before), to: after, back: { from: place(after), to: before } }
}

/** A text, whatever its line breaks and indentation. */
function place(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+'))
}

export const trackOperations: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createOperations(db, names)
    await openOperations(db, names)
    await admitNegativeEntries(db, names)
    await createNetCaptures(db, names)
    await holdBackOpenCaptures(db, names)
    for (const { back: _, ...edit } of edits(names)) await editFunction(db, names, edit)
  },
  async down(db: Kysely<unknown>) {
    for (const { name, back } of edits(names).toReversed()) await editFunction(db, names, { name, ...back })
    await restoreFunctions(db, names)
    await sql`DROP FUNCTION ${names.id('net_captures')}(text, text, text, bigint)`.execute(db)
    const [amount, trail] = ['trail_entries_amount_ck', 'transactions_trail_ck']
    await replaceCheck(db, names, { table: 'trail_entries', name: amount, rule: sql`amount > 0 AND gross >= 0` })
    await replaceCheck(db, names, { table: 'transactions', name: trail, rule: sql`trail_length BETWEEN 0 AND 10000` })
    await sql`DROP TRIGGER ${names.local('outbox_operation')} ON ${names.id('outbox')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('open_operation')}()`.execute(db)
    await sql`DROP TABLE ${names.id('acquirer_operations')}`.execute(db)
  },
})

/** As 0062 and 0108 made them. */
async function restoreFunctions(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('not_yet_due')}(p_merchant_id text, p_since timestamptz) RETURNS bigint
    LANGUAGE sql STABLE AS $$
      SELECT coalesce(sum(l.balance), 0)::bigint FROM ${names.id('lines')} l
      WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture'
        AND l.id >= ${names.id('first_id')}(p_since + interval '1 millisecond')
    $$`.execute(db)
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('reversal_gross')}(
      p_merchant_id text, p_transaction_id text, p_reversed bigint, p_amount bigint
    ) RETURNS bigint LANGUAGE sql STABLE AS $$
      SELECT ${names.id('captured_value')}(c.amounts, c.grosses, p_reversed + p_amount)
        - ${names.id('captured_value')}(c.amounts, c.grosses, p_reversed)
      FROM (
        SELECT array_agg(e.amount ORDER BY e.seq) AS amounts, array_agg(e.gross ORDER BY e.seq) AS grosses
        FROM ${names.id('trail_entries')} e
        WHERE e.merchant_id = p_merchant_id AND e.transaction_id = p_transaction_id AND e.kind = 'capture'
      ) c
    $$`.execute(db)
}
