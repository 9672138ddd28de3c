// Why: posting functions decide amounts, so SQL must round as the contract says: once, half to even, on exact numbers.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import table from './0040-currencies.json' with { type: 'json' }

/** Decimals of the minor unit of a listed currency (ISO 4217); NULL for any other text. */
async function createCurrencyExponent(db: Kysely<unknown>, names: Names): Promise<void> {
  const exponents = [...new Set(table.currencies.map(({ exponent }) => exponent))].sort()
  const cases = exponents.map((exponent) => {
    const codes = table.currencies.filter((currency) => currency.exponent === exponent).map(({ code }) => code)
    return sql`WHEN p_currency = ANY (${sql.lit(`{${codes.join()}}`)}::text[]) THEN ${sql.lit(exponent)}`
  })
  await sql`
    CREATE FUNCTION ${names.id('currency_exponent')}(p_currency text) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE ${sql.join(cases, sql` `)} END $$`.execute(db)
}

export const createRounding: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createCurrencyExponent(db, names)
    // The nearest integer to n/d, of two equally near the even one. n >= 0, d > 0. One expression, so that it is inlined.
    await sql`
      CREATE FUNCTION ${names.id('round_half_even')}(n numeric, d numeric) RETURNS bigint
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT (div(n, d) + CASE sign(2 * mod(n, d) - d) WHEN 1 THEN 1 WHEN 0 THEN mod(div(n, d), 2) ELSE 0 END)::bigint
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('round_half_even')}(numeric, numeric)`.execute(db)
    await sql`DROP FUNCTION ${names.id('currency_exponent')}(text)`.execute(db)
  },
})
