// Why: what the service still wrote by statements of its own decides on money: terms of merchants, seeds, exported payouts,
// outcomes of attempts and imported rates. Functions write and record it, so that the role of the service can be left without the
// right to change these tables.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

const HOT = sql`LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off`

/** What an operator settles: the members of p_change alone. No row where there is no such merchant. */
async function createChange(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('change_merchant')}(p_merchant_id text, p_change jsonb)
    RETURNS SETOF ${names.id('merchants')} ${HOT} AS $$
    DECLARE
      merchant ${names.id('merchants')};
    BEGIN
      UPDATE ${names.id('merchants')} m SET
          claim = m.claim || coalesce(p_change -> 'claim', '{}'),
          pricing = m.pricing || coalesce(p_change -> 'pricing', '{}'),
          tds_mode = coalesce(p_change ->> 'tdsMode', m.tds_mode),
          acquirer = CASE WHEN p_change ? 'acquirer' THEN p_change ->> 'acquirer' ELSE m.acquirer END,
          iban = CASE WHEN p_change ? 'iban' THEN p_change ->> 'iban' ELSE m.iban END
        WHERE m.id = p_merchant_id RETURNING m.* INTO merchant;
      IF NOT FOUND THEN RETURN; END IF;
      PERFORM ${names.id('note_merchant_update')}(merchant);
      PERFORM ${names.id('add_audit')}(p_merchant_id, NULL, 'merchant.changed', p_change);
      RETURN NEXT merchant;
    END $$`.execute(db)
}

/**
 * Inserts a merchant of a seed file with its balance. Its tag is that of its id where it is free, else a random one: ids below
 * it then need an alias. False where the merchant is there already.
 */
async function createSeedMerchant(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('seed_merchant')}(p_merchant jsonb) RETURNS boolean ${HOT} AS $$
    DECLARE
      made ${names.id('merchants')} := jsonb_populate_record(NULL::${names.id('merchants')}, p_merchant);
    BEGIN
      PERFORM FROM ${names.id('merchants')} m WHERE m.id = made.id;
      IF FOUND THEN RETURN false; END IF;
      made.tag := right(made.id, 8);
      PERFORM FROM ${names.id('merchants')} m WHERE m.tag = made.tag;
      IF FOUND THEN made.tag := ${names.id('random_tag')}(); END IF;
      made.created := ${names.id('created_at')}(${names.id('id_number')}(made.id));
      made.tds_mode := 'attempt';
      made.acquirer := NULL;
      INSERT INTO ${names.id('merchants')} VALUES (made.*);
      INSERT INTO ${names.id('merchant_balances')} (merchant_id, currency, last_id)
        VALUES (made.id, made.currency, left(made.id, 16) || made.tag);
      PERFORM ${names.id('record_states')}(made.id, 'merchants', ARRAY[made.id]);
      RETURN true;
    END $$`.execute(db)
}

/**
 * Inserts a transaction of given values with its card, authorized in full. An id that does not end in the merchant's tag is
 * listed as an alias. Ids go on from the greatest one, also where that lies ahead of the clock.
 */
async function createAdd(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('add_transaction')}(p_merchant_id text, p_transaction jsonb, p_card jsonb)
    RETURNS void ${HOT} AS $$
    DECLARE
      merchant ${names.id('merchants')};
      made ${names.id('transactions')} := jsonb_populate_record(NULL::${names.id('transactions')}, p_transaction);
      card ${names.id('instruments')} := jsonb_populate_record(NULL::${names.id('instruments')}, p_card);
    BEGIN
      SELECT m.* INTO STRICT merchant FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
      INSERT INTO ${names.id('instruments')}
        (merchant_id, id, created, pan_sealed, key_id, pan_mac, bin, last4, expiry, scheme, scenario)
        VALUES (p_merchant_id, card.id, ${names.id('created_at')}(${names.id('id_number')}(card.id)), card.pan_sealed,
          card.key_id, card.pan_mac, card.bin, card.last4, card.expiry, card.scheme, card.scenario);
      INSERT INTO ${names.id('transactions')} (merchant_id, id, created, instrument_id, test, currency, amount, descriptor,
        pending, recurring, successful, code_present)
        VALUES (p_merchant_id, made.id,
          coalesce(made.created, ${names.id('created_at')}(${names.id('id_number')}(made.id))), card.id, merchant.test,
          made.currency, made.amount, merchant.descriptor, made.amount, false, true, true);
      IF right(made.id, 8) <> merchant.tag THEN
        INSERT INTO ${names.id('id_aliases')} (id, merchant_id) VALUES (made.id, p_merchant_id);
      END IF;
      UPDATE ${names.id('merchant_balances')} b SET last_id = greatest(b.last_id, left(made.id, 16) || right(b.last_id, 8))
        WHERE b.merchant_id = p_merchant_id;
      PERFORM ${names.id('record_states')}(p_merchant_id, 'transactions', ARRAY[made.id]);
    END $$`.execute(db)
}

/** The same of a test merchant alone, for seed files: no acquirer would know of a live one. False where it is live. */
async function createSeedTransaction(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('seed_transaction')}(p_merchant_id text, p_transaction jsonb, p_card jsonb)
    RETURNS boolean ${HOT} AS $$
    BEGIN
      PERFORM FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id AND m.test;
      IF NOT FOUND THEN RETURN false; END IF;
      PERFORM ${names.id('add_transaction')}(p_merchant_id, p_transaction, p_card);
      RETURN true;
    END $$`.execute(db)
}

/**
 * Marks the live payouts that wait as exported and answers them by merchant and id. Of two calls at once each payout is in one:
 * the second waits for the rows, and leaves out those that wait no longer. All payouts are locked before the first balance, as
 * where one of them is closed.
 */
async function createExport(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('export_payouts')}() RETURNS SETOF ${names.id('payouts')} ${HOT} AS $$
    DECLARE
      held ${names.id('payouts')}[];
      payout ${names.id('payouts')};
    BEGIN
      SELECT array_agg(p ORDER BY p.merchant_id, p.id) INTO held FROM (
        SELECT * FROM ${names.id('payouts')} p
        WHERE NOT p.test AND p.status = 'created'
        ORDER BY p.merchant_id, p.id FOR UPDATE
      ) p;
      FOREACH payout IN ARRAY coalesce(held, '{}') LOOP
        UPDATE ${names.id('payouts')} p SET status = 'exported'
          WHERE p.merchant_id = payout.merchant_id AND p.id = payout.id;
        PERFORM ${names.id('record_states')}(payout.merchant_id, 'payouts', ARRAY[payout.id]);
        payout.status := 'exported';
        RETURN NEXT payout;
      END LOOP;
    END $$`.execute(db)
}

async function createSmall(db: Kysely<unknown>, names: Names): Promise<void> {
  // p_status: declined or reversed. False when the outcome was known already.
  await sql`
    CREATE FUNCTION ${names.id('settle_attempt')}(p_merchant_id text, p_attempt_id text, p_status text) RETURNS boolean
    ${HOT} AS $$
    BEGIN
      IF p_status NOT IN ('declined', 'reversed') THEN RAISE EXCEPTION '% is no outcome', p_status; END IF;
      UPDATE ${names.id('attempts')} a SET status = p_status
        WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id AND a.status = 'unknown';
      RETURN FOUND;
    END $$`.execute(db)
  // p_rates: [{date, currency, rate}, …]. Those of a date and currency that are there already are replaced.
  await sql`
    CREATE FUNCTION ${names.id('import_rates')}(p_rates jsonb) RETURNS void ${HOT} AS $$
    BEGIN
      INSERT INTO ${names.id('fx_rates')} (date, currency, source, rate)
        SELECT DISTINCT ON (r.date, r.currency) r.date, r.currency, 'ecb', r.rate
        FROM jsonb_to_recordset(p_rates) AS r(date date, currency text, rate numeric)
        ON CONFLICT ON CONSTRAINT ${names.local('fx_rates_pk')} DO UPDATE SET rate = excluded.rate;
    END $$`.execute(db)
}

const ADDED = [
  ...['settle_attempt(text, text, text)', 'import_rates(jsonb)', 'export_payouts()'],
  ...['seed_transaction(text, jsonb, jsonb)', 'add_transaction(text, jsonb, jsonb)', 'seed_merchant(jsonb)'],
  'change_merchant(text, jsonb)',
]

export const writeByFunctions: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createChange(db, names)
    await createSeedMerchant(db, names)
    await createAdd(db, names)
    await createSeedTransaction(db, names)
    await createExport(db, names)
    await createSmall(db, names)
  },
  async down(db: Kysely<unknown>) {
    for (const signature of ADDED) {
      const [name = '', types] = signature.split('(')
      await sql`DROP FUNCTION ${names.id(name)}(${sql.raw(types ?? '')}`.execute(db)
    }
  },
})
