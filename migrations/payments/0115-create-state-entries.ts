// Why: hashes covered the ledger alone. A raised authorization, another bank account or a dispute that was removed left no
// trace. Every row whose columns move money, or name who gets or pays it, gets its digests in a second chain.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

/** Columns by what they do: move money, name who gets or pays it, or say what was agreed. */
interface StateColumns {
  readonly money: readonly string[]
  readonly party: readonly string[]
  readonly terms: readonly string[]
}

/** `i` is the card of a transaction, `r` the row itself. Frozen: another list is another version of the hash. */
const STATES: Readonly<Record<string, StateColumns>> = {
  merchants: {
    money: ['r.currency', 'r.test', 'r.acquirer', 'r.claim', 'r.pricing'],
    party: ['r.iban', 'r.name', 'r.website', 'r.country', 'r.company_number'],
    terms: ['r.created', 'r.tag', 'r.key', 'r.email', 'r.descriptor', 'r.tds_mode'],
  },
  transactions: {
    money: ['r.test', 'r.currency', 'r.amount', 'r.successful', 'r.acquirer', 'r.acquirer_ref'],
    party: [
      ...['r.instrument_id', 'r.source_id', 'i.bin', 'i.last4', 'i.expiry', 'i.scheme', 'i.scenario', 'i.network_ref'],
      'i.planned',
    ],
    terms: [
      ...['r.created', 'r.descriptor', 'r.reference', 'r.custom', 'r.tds', 'r.recurring', 'r.error_code', 'r.plan'],
      ...['r.unplanned', 'r.code_present', 'r.session_id', 'r.disputed_at_capture'],
    ],
  },
  cards: {
    money: ['r.transaction_id'],
    party: ['r.instrument_id', 'r.deleted'],
    terms: ['r.created', 'r.notes'],
  },
  disputes: {
    money: ['r.transaction_id', 'r.amount', 'r.currency', 'r.status'],
    party: ['r.acquirer_ref'],
    terms: ['r.created', 'r.reason_code', 'r.reason_title', 'r.due', 'r.resolved'],
  },
  // Open ones follow from the trail. An answer decides whether a capture is paid out.
  acquirer_operations: {
    money: ['r.kind', 'r.status'],
    party: ['r.transaction_id'],
    terms: ['r.reason', 'r.answered'],
  },
  payouts: {
    money: ['r.date', 'r.test', 'r.amount', 'r.currency', 'r.status', 'r.line_id'],
    party: ['r.iban'],
    terms: ['r.created'],
  },
}

async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('state_entries')} (${merchantRow(names, 'state_entries')},
      table_name text NOT NULL,
      row_id text COLLATE "C" NOT NULL,
      money bytea NOT NULL,
      party bytea NOT NULL,
      terms bytea NOT NULL,
      login text NOT NULL,
      hash bytea NOT NULL,
      hash_version smallint NOT NULL,
      CONSTRAINT ${names.local('state_entries_table_ck')} CHECK (table_name IN (
        'merchants', 'transactions', 'cards', 'disputes', 'acquirer_operations', 'payouts'
      )),
      CONSTRAINT ${names.local('state_entries_hash_ck')} CHECK (octet_length(hash) = 32)
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('state_entries')}.login IS 'who was connected when the row was written'`.execute(
    db,
  )
  await sql`
    CREATE INDEX ${names.local('state_entries_row_ix')} ON ${names.id('state_entries')}
      (merchant_id, table_name, row_id, id)`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('state_entries_append_only')} BEFORE UPDATE OR DELETE OR TRUNCATE
    ON ${names.id('state_entries')} FOR EACH STATEMENT EXECUTE FUNCTION ${names.id('refuse_change')}()`.execute(db)
  await sql`
    ALTER TABLE ${names.id('merchant_balances')}
      ADD COLUMN state_head bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
      ADD COLUMN state_length bigint NOT NULL DEFAULT 0,
      ADD CONSTRAINT ${names.local('balances_state_head_ck')} CHECK (octet_length(state_head) = 32),
      ADD CONSTRAINT ${names.local('balances_state_length_ck')} CHECK (state_length >= 0)`.execute(db)
}

function digestsOf(names: Names, table: string, { money, party, terms }: StateColumns): RawBuilder<unknown> {
  const digest = (columns: readonly string[]) => sql.raw(`sha256(record_send(ROW(${columns.join()})))`)
  const card = sql`LEFT JOIN ${names.id('instruments')} i ON i.merchant_id = r.merchant_id AND i.id = r.instrument_id`
  return sql`
        RETURN QUERY SELECT r.id, ${digest(money)}, ${digest(party)}, ${digest(terms)}
          FROM ${names.id(table)} r ${table === 'transactions' ? card : sql``}
          WHERE ${table === 'merchants' ? sql`` : sql`r.merchant_id = p_merchant_id AND`} r.id = ANY (p_ids) ORDER BY r.id;`
}

/** The digests of rows of a table below a merchant, or of the merchant's own row. */
async function createDigests(db: Kysely<unknown>, names: Names): Promise<void> {
  const branches = Object.entries(STATES).map(
    ([table, columns]) => sql`p_table = ${sql.lit(table)} THEN ${digestsOf(names, table, columns)}`,
  )
  await sql`
    CREATE FUNCTION ${names.id('row_digests')}(p_merchant_id text, p_table text, p_ids text[])
    RETURNS TABLE (row_id text, money bytea, party bytea, terms bytea)
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
    #variable_conflict use_column
    BEGIN
      IF ${sql.join(
        branches,
        sql`
      ELSIF `,
      )}
      END IF;
    END $$`.execute(db)
}

/**
 * Appends what rows are now to the merchant's chain of states. Whoever inserts or changes such a row calls it afterwards, in the
 * same transaction. A trigger would also vouch for what somebody changes by hand.
 */
async function createRecord(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('record_states')}(p_merchant_id text, p_table text, p_ids text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
    #variable_conflict use_column
    DECLARE
      held ${names.id('merchant_balances')};
      number bigint;
      tag text;
      digests record;
      made ${names.id('state_entries')}; entries ${names.id('state_entries')}[] := '{}';
    BEGIN
      SELECT b.* INTO STRICT held FROM ${names.id('merchant_balances')} b
        WHERE b.merchant_id = p_merchant_id FOR UPDATE;
      tag := right(held.last_id, 8);
      number := ${names.id('next_number')}(held.last_id);
      FOR digests IN SELECT * FROM ${names.id('row_digests')}(p_merchant_id, p_table, p_ids) LOOP
        made := ROW(p_merchant_id, ${names.id('id_at')}(number, tag), ${names.id('created_at')}(number), p_table,
          digests.row_id, digests.money, digests.party, digests.terms, session_user, NULL, 1);
        held.state_head := sha256('\\x01' || held.state_head || record_send(made));
        made.hash := held.state_head;
        entries := entries || made;
        held.state_length := held.state_length + 1;
        held.last_id := made.id;
        number := number + 1;
      END LOOP;
      INSERT INTO ${names.id('state_entries')} SELECT * FROM unnest(entries) AS entry;
      UPDATE ${names.id('merchant_balances')} b
        SET last_id = held.last_id, state_head = held.state_head, state_length = held.state_length
        WHERE b.merchant_id = p_merchant_id;
    END $$`.execute(db)
}

export const createStateEntries: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createDigests(db, names)
    await createRecord(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('record_states')}(text, text, text[])`.execute(db)
    await sql`DROP FUNCTION ${names.id('row_digests')}(text, text, text[])`.execute(db)
    await sql`
      ALTER TABLE ${names.id('merchant_balances')} DROP COLUMN state_head, DROP COLUMN state_length`.execute(db)
    await sql`DROP TABLE ${names.id('state_entries')}`.execute(db)
  },
})
