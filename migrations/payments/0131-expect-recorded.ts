// Why: functions trusted a recorded row as it was, and recorded it anew with their own change. So they paid to an account that
// somebody had put in by hand, and vouched for the prices and accounts that they found.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

const HOT = sql`LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off`

async function createExpect(db: Kysely<unknown>, names: Names): Promise<void> {
  // Raises TL001 unless rows are as they were recorded last. Who changes a row holds its lock by then, so that nobody comes between.
  await sql`
    CREATE FUNCTION ${names.id('expect_recorded')}(p_merchant_id text, p_table text, p_ids text[]) RETURNS void
    ${HOT} AS $$
    DECLARE
      changed record;
    BEGIN
      SELECT d.row_id, concat_ws(' and ',
          CASE WHEN s.money IS DISTINCT FROM d.money THEN 'what moves money' END,
          CASE WHEN s.party IS DISTINCT FROM d.party THEN 'who gets or pays it' END,
          CASE WHEN s.terms IS DISTINCT FROM d.terms THEN 'its terms' END
        ) AS what INTO changed
        FROM ${names.id('row_digests')}(p_merchant_id, p_table, p_ids) d
        LEFT JOIN LATERAL (
          SELECT e.money, e.party, e.terms FROM ${names.id('state_entries')} e
          WHERE e.merchant_id = p_merchant_id AND e.table_name = p_table AND e.row_id = d.row_id
          ORDER BY e.id DESC LIMIT 1
        ) s ON true
        WHERE (s.money, s.party, s.terms) IS DISTINCT FROM (d.money, d.party, d.terms)
          -- An operation is recorded with its first answer.
          AND NOT (p_table = 'acquirer_operations' AND s.money IS NULL AND EXISTS (
            SELECT FROM ${names.id('acquirer_operations')} o WHERE o.merchant_id = p_merchant_id AND o.id = d.row_id
              AND o.status = 'open' AND num_nonnulls(o.reason, o.answered) = 0
          ))
        LIMIT 1;
      IF FOUND THEN
        RAISE EXCEPTION '% of %: % was changed by hand; look with: payments ledger verify',
          changed.row_id, p_table, changed.what USING ERRCODE = 'TL001';
      END IF;
    END $$`.execute(db)
  // Both are of one moment: what is answered is what was compared.
  await sql`
    CREATE FUNCTION ${names.id('recorded_merchant')}(p_merchant_id text) RETURNS ${names.id('merchants')} ${HOT} AS $$
    DECLARE
      merchant ${names.id('merchants')};
    BEGIN
      PERFORM ${names.id('expect_recorded')}(p_merchant_id, 'merchants', ARRAY[p_merchant_id]);
      SELECT m.* INTO merchant FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
      RETURN merchant;
    END $$`.execute(db)
}

/** A place in a function, and what is put after it; or before, or instead. */
interface Edit {
  readonly name: string
  readonly from: string
  readonly to: string
}

function editsOf({ schema, prefix }: Names): readonly Edit[] {
  const id = (name: string) => `"${schema}"."${prefix}${name}"`
  const expect = (merchant: string, table: string, ids: string) =>
    `PERFORM ${id('expect_recorded')}(${merchant}, '${table}', ${ids});`
  const hold = `PERFORM FROM ${id('merchants')} m WHERE m.id = p_merchant_id FOR NO KEY UPDATE;
        ${expect('p_merchant_id', 'merchants', 'ARRAY[p_merchant_id]')}`
  const after = (name: string, from: string, ...checks: readonly string[]) => {
    return { name, from, to: [from, ...checks].join('\n        ') }
  }
  return [
    after('update_merchant', "IF p_changes IS NOT NULL AND differing = '{}' THEN", hold),
    {
      name: 'change_merchant',
      from: `UPDATE ${id('merchants')} m SET`,
      to: `${hold}\n      UPDATE ${id('merchants')} m SET`,
    },
    after(
      'payout',
      'IF payout.id IS NULL THEN',
      `merchant := ${id('recorded_merchant')}(merchant.id);`,
      // One that somebody has closed by hand would free what it keeps back.
      expect(
        'merchant.id',
        'disputes',
        `ARRAY(SELECT d.id FROM ${id('disputes')} d WHERE d.merchant_id = merchant.id)`,
      ),
    ),
    after(
      'payout_close',
      "IF payout.status IN ('created', 'exported') THEN",
      expect('payout.merchant_id', 'payouts', 'ARRAY[payout.id]'),
    ),
    after(
      'export_payouts',
      "FOREACH payout IN ARRAY coalesce(held, '{}') LOOP",
      expect('payout.merchant_id', 'payouts', 'ARRAY[payout.id]'),
      expect('payout.merchant_id', 'merchants', 'ARRAY[payout.merchant_id]'),
    ),
    after(
      'dispute_close',
      'IF dispute.status = p_outcome THEN RETURN NEXT; RETURN; END IF;',
      expect('held.merchant_id', 'disputes', 'ARRAY[dispute.id]'),
    ),
    {
      name: 'dispute_movement',
      from: `FROM ${id('merchants')} m,`,
      to: `FROM ${id('recorded_merchant')}(p_held.merchant_id) m,`,
    },
    after(
      'operation_close',
      "IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;",
      expect('p_merchant_id', 'acquirer_operations', 'ARRAY[p_id]'),
    ),
  ]
}

export const expectRecorded: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createExpect(db, names)
    for (const { name, from, to } of editsOf(names)) await editFunction(db, names, { name, from: anySpacing(from), to })
  },
  async down(db: Kysely<unknown>) {
    for (const { name, from, to } of editsOf(names).toReversed()) {
      await editFunction(db, names, { name, from: anySpacing(to), to: from })
    }
    await sql`DROP FUNCTION ${names.id('recorded_merchant')}(text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('expect_recorded')}(text, text, text[])`.execute(db)
  },
})
