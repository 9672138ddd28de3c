// Why: the login of the service chose the terms of money by arguments: a negative margin, a negative amount, negative prices, test
// money at a live merchant, and when a live merchant is paid out.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

async function createPriceCheck(db: Kysely<unknown>, names: Names): Promise<void> {
  // Whether no price is negative, and the share of a capture not more than the capture.
  await sql`
    CREATE FUNCTION ${names.id('are_prices')}(p_pricing jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
      SELECT coalesce((p_pricing ->> 'rate')::numeric, 0) BETWEEN 0 AND 10000 AND NOT EXISTS (
        SELECT FROM jsonb_each(p_pricing) AS price (name, flat)
        WHERE price.name <> 'rate' AND coalesce((price.flat ->> 'amount')::numeric, 0) < 0
      )
    $$`.execute(db)
}

/** A place in a function, and what stands there instead. */
interface Edit {
  readonly name: string
  readonly from: string
  readonly to: string
}

function editsOf({ schema, prefix }: Names): readonly Edit[] {
  const id = (name: string) => `"${schema}"."${prefix}${name}"`
  const refuse = (condition: string, message: string) =>
    `IF (${condition}) IS NOT TRUE THEN RAISE EXCEPTION '${message}' USING ERRCODE = 'invalid_parameter_value'; END IF;`
  const before = (name: string, from: string, added: string) => ({ name, from, to: `${added}\n      ${from}` })
  const after = (name: string, from: string, added: string) => ({ name, from, to: `${from}\n      ${added}` })
  return [
    before(
      'move_many',
      'SELECT array_agg(ROW(i.operation, i.id, i.amount,',
      refuse('p_margin_bps BETWEEN 0 AND 10000', 'a margin is 0 to 10000 basis points'),
    ),
    {
      name: 'move_many',
      from: "WHEN i.amount > result.possible THEN 'limit-exceeded'",
      to: "WHEN (i.amount BETWEEN 1 AND result.possible) IS NOT TRUE THEN 'limit-exceeded'",
    },
    before(
      'create_merchant',
      `claimed := ${id('claim_creation')}(`,
      refuse(`${id('are_prices')}(p_merchant -> 'pricing')`, 'a price is negative, or a share of more than all'),
    ),
    before(
      'clock_advance',
      "IF verdict <> 'done' OR p_seconds IS NULL THEN",
      `PERFORM FROM ${id('merchants')} m WHERE m.id = p_merchant_id AND m.test;
        IF verdict = 'done' AND NOT FOUND THEN verdict := 'forbidden'; END IF;`,
    ),
    after('clock_advance', 'AND b.clock_offset + p_seconds <= 3153600000', 'AND p_seconds >= 0'),
    after(
      'payout',
      "IF verdict <> 'done' OR p_minimum IS NULL THEN RETURN NEXT; RETURN; END IF;",
      refuse('p_delay_days >= 0', 'a delay is 0 days or more'),
    ),
    after('payment_begin', 'made record;', `merchant ${id('merchants')};`),
    before(
      'payment_begin',
      `SELECT n.* INTO made FROM ${id('new_id')}(`,
      `SELECT m.* INTO STRICT merchant FROM ${id('merchants')} m WHERE m.id = p_merchant_id;
      -- An operator has just changed it: nobody was asked yet, and the customer may pay again.
      IF p_payment ->> 'acquirer' IS DISTINCT FROM (CASE WHEN NOT merchant.test THEN merchant.acquirer END) THEN
        RAISE EXCEPTION 'the merchant has another acquirer' USING ERRCODE = 'serialization_failure';
      END IF;`,
    ),
    {
      name: 'payment_begin',
      from: "'codePresent', true, 'method'",
      to: "'codePresent', true, 'test', merchant.test, 'method'",
    },
    // The day of the session's own time zone may be another.
    {
      name: 'dispute_movement',
      from: 'm.currency, current_date',
      to: "m.currency, (clock_timestamp() AT TIME ZONE 'UTC')::date",
    },
  ]
}

export const boundTerms: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createPriceCheck(db, names)
    for (const { name, from, to } of editsOf(names)) await editFunction(db, names, { name, from: anySpacing(from), to })
  },
  async down(db: Kysely<unknown>) {
    for (const { name, from, to } of editsOf(names).toReversed()) {
      await editFunction(db, names, { name, from: anySpacing(to), to: from })
    }
    await sql`DROP FUNCTION ${names.id('are_prices')}(jsonb)`.execute(db)
  },
})
