// Why: what is asked of an acquirer is written down before it is asked, so that a crash leaves nothing unknown for good.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { merchantRow } from './merchant-rows.ts'

async function createSessions(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('payment_sessions')} (${merchantRow(names, 'payment_sessions')},
      digest bytea NOT NULL,
      state text NOT NULL,
      tds jsonb,
      origin text,
      return_url text,
      transaction_id text COLLATE "C",
      expires timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('payment_sessions_digest_ck')} CHECK (octet_length(digest) = 32)
    )`.execute(db)
  await sql`
    CREATE TABLE ${names.id('spent_tokens')} (
      merchant_id text COLLATE "C" NOT NULL,
      jti text NOT NULL,
      expires timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('spent_tokens_pk')} PRIMARY KEY (merchant_id, jti)
    )`.execute(db)
  for (const table of ['payment_sessions', 'spent_tokens']) {
    await sql`
      CREATE INDEX ${names.local(`${table}_expires_ix`)} ON ${names.id(table)} (expires, merchant_id)`.execute(db)
  }
}

export const createAttempts: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createSessions(db, names)
    await sql`
      CREATE TABLE ${names.id('attempts')} (${merchantRow(names, 'attempts')},
        kind text NOT NULL,
        status text NOT NULL DEFAULT 'sent',
        request jsonb NOT NULL,
        CONSTRAINT ${names.local('attempts_status_ck')} CHECK (status IN (
          'sent', 'approved', 'declined', 'unknown', 'reversed'
        ))
      )`.execute(db)
    await sql`COMMENT ON COLUMN ${names.id('attempts')}.request IS 'never card data'`.execute(db)
    await sql`
      CREATE INDEX ${names.local('attempts_unsettled_ix')} ON ${names.id('attempts')} (merchant_id, id)
        WHERE status IN ('sent', 'unknown')`.execute(db)
    await sql`
      CREATE TABLE ${names.id('acquirer_exceptions')} (${merchantRow(names, 'acquirer_exceptions')},
        payload jsonb NOT NULL,
        resolved timestamptz(3)
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    const tables = ['acquirer_exceptions', 'attempts', 'payment_sessions', 'spent_tokens'].map(names.id)
    await sql`DROP TABLE ${sql.join(tables)}`.execute(db)
  },
})
