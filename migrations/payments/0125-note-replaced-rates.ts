// Why: an import replaced the rate of a day without a trace, so nobody could tell at which rate a capture of that day should
// have been exchanged.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

const HOT = sql`LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off`

/** @param note runs before the rates are stored */
async function createImport(db: Kysely<unknown>, names: Names, note: ReturnType<typeof sql>): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${names.id('import_rates')}(p_rates jsonb) RETURNS void ${HOT} AS $$
    BEGIN
      ${note}
      INSERT INTO ${names.id('fx_rates')} (date, currency, source, rate)
        SELECT DISTINCT ON (r.date, r.currency) r.date, r.currency, 'ecb', r.rate
        FROM jsonb_to_recordset(p_rates) AS r(date date, currency text, rate numeric)
        ON CONFLICT ON CONSTRAINT ${names.local('fx_rates_pk')} DO UPDATE SET rate = excluded.rate;
    END $$`.execute(db)
}

export const noteReplacedRates: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const note = sql`
      PERFORM ${names.id('add_audit')}(repeat('0', 24), NULL, 'fx.replaced', jsonb_build_object('rates', replaced.rates))
        FROM (
          SELECT jsonb_agg(jsonb_build_object(
              'date', f.date, 'currency', f.currency, 'from', trim_scale(f.rate)::text, 'to', trim_scale(r.rate)::text
            ) ORDER BY f.date, f.currency) AS rates
          FROM jsonb_to_recordset(p_rates) AS r(date date, currency text, rate numeric)
          JOIN ${names.id('fx_rates')} f ON f.date = r.date AND f.currency = r.currency AND f.source = 'ecb'
          WHERE f.rate <> round(r.rate, 10)
        ) replaced
        WHERE replaced.rates IS NOT NULL;`
    await createImport(db, names, note)
  },
  async down(db: Kysely<unknown>) {
    await createImport(db, names, sql``)
  },
})
