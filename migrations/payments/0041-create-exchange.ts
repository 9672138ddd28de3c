// Why: charges in any currency reach a merchant's balance in its own, at rates that are stored exactly and dated.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import table from './0041-fx-rates.json' with { type: 'json' }

async function createRates(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('fx_rates')} (
      date date NOT NULL,
      currency text NOT NULL,
      source text NOT NULL,
      rate numeric(24,10) NOT NULL,
      CONSTRAINT ${names.local('fx_rates_pk')} PRIMARY KEY (date, currency, source),
      CONSTRAINT ${names.local('fx_rates_currency_ck')} CHECK (currency ~ '^[A-Z]{3}$'),
      CONSTRAINT ${names.local('fx_rates_source_ck')} CHECK (source IN ('embedded', 'ecb')),
      CONSTRAINT ${names.local('fx_rates_rate_ck')} CHECK (rate > 0)
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('fx_rates')}.rate IS 'units of the currency for one euro'`.execute(db)
  await sql`CREATE INDEX ${names.local('fx_rates_currency_ix')} ON ${names.id('fx_rates')} (currency, date)`.execute(db)
  await sql`
    INSERT INTO ${names.id('fx_rates')} (date, currency, source, rate)
    SELECT (day.value ->> 'date')::date, rate.key, 'embedded', rate.value::numeric
    FROM jsonb_array_elements(${JSON.stringify(table.rates)}::jsonb) AS day (value),
      jsonb_each_text(day.value -> 'rates') rate`.execute(db)
}

/**
 * The rate that applies on a day: of the latest date that is not after it, before the first date the first; on one date an
 * imported rate beats the embedded. No row when there is none at all. The euro is the base, 1 on every day.
 */
async function createRateOfDay(db: Kysely<unknown>, names: Names): Promise<void> {
  const candidates = (condition: string, order: string) => sql`(
          SELECT r.rate, r.date FROM ${names.id('fx_rates')} r
          WHERE r.currency = p_currency AND p_currency <> 'EUR' AND r.date ${sql.raw(condition)} p_date
          ORDER BY r.date ${sql.raw(order)}, r.source = 'embedded' LIMIT 1
        )`
  await sql`
    CREATE FUNCTION ${names.id('fx_rate')}(p_currency text, p_date date) RETURNS TABLE (rate numeric, date date)
    LANGUAGE sql STABLE AS $$
      SELECT found.rate, found.date FROM (
        SELECT 1::numeric, p_date WHERE p_currency = 'EUR'
        UNION ALL
        ${candidates('<=', 'DESC')}
        UNION ALL
        ${candidates('>', 'ASC')}
      ) AS found (rate, date)
      ORDER BY found.date > p_date LIMIT 1
    $$`.execute(db)
}

export const createExchange: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createRates(db, names)
    await createRateOfDay(db, names)
    const exponent = (currency: string) =>
      sql`('1e' || ${names.id('currency_exponent')}(${sql.raw(currency)}))::numeric`
    // An amount in minor units, exchanged and lessened by a margin in basis points, rounded once. rate: units of p_to for
    // one of p_from after the margin, to 10 decimals, for showing; rate_date: the older of the two days that were used.
    // Both are NULL for the same currency, which is not exchanged at all. No row when either has no rate.
    await sql`
      CREATE FUNCTION ${names.id('exchange')}(
        p_amount bigint, p_from text, p_to text, p_date date, p_margin_bps int
      ) RETURNS TABLE (amount bigint, rate text, rate_date date) LANGUAGE sql STABLE AS $$
        SELECT p_amount, NULL::text, NULL::date WHERE p_from = p_to
        UNION ALL
        SELECT
          ${names.id('round_half_even')}(
            p_amount * ${exponent('p_to')} * t.rate * (10000 - p_margin_bps),
            ${exponent('p_from')} * f.rate * 10000
          ),
          trim_scale(
            ${names.id('round_half_even')}(t.rate * (10000 - p_margin_bps) * 1e10, f.rate * 10000) * 0.0000000001
          )::text,
          least(f.date, t.date)
        FROM ${names.id('fx_rate')}(p_from, p_date) f, ${names.id('fx_rate')}(p_to, p_date) t
        WHERE p_from <> p_to
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('exchange')}(bigint, text, text, date, int)`.execute(db)
    await sql`DROP FUNCTION ${names.id('fx_rate')}(text, date)`.execute(db)
    await sql`DROP TABLE ${names.id('fx_rates')}`.execute(db)
  },
})
