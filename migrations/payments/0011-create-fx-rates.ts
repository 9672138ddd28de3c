// Charges in any currency are converted to the currency of the merchant's balance, at stored, exact and dated rates.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import table from './0011-fx-rates.json' with { type: 'json' }

export const createFxRates: MigrationSource = (names) => ({
  tables: { fx_rates: 'reference' },
  async up(db: Kysely<unknown>) {
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
    await sql`CREATE INDEX ${names.local('fx_rates_currency_ix')} ON ${names.id('fx_rates')} (currency, date)`.execute(
      db,
    )
    // Initial rates, good enough for test mode. A live deployment imports the rates of the European Central Bank.
    await sql`
      INSERT INTO ${names.id('fx_rates')} (date, currency, source, rate)
      SELECT (day.value ->> 'date')::date, rate.key, 'embedded', rate.value::numeric
      FROM jsonb_array_elements(${JSON.stringify(table.rates)}::jsonb) AS day (value),
        jsonb_each_text(day.value -> 'rates') rate`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('fx_rates')}`.execute(db)
  },
})
