// A token stands for a card and is used once. These tables store the merchant of each token, and the used tokens.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createTokens: MigrationSource = (names) => ({
  tables: { token_merchants: 'local', spent_tokens: 'owned' },
  async up(db: Kysely<unknown>) {
    await createTokenMerchants(db, names)
    await createSpentTokens(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('spent_tokens')}, ${names.id('token_merchants')}`.execute(db)
  },
})

/**
 * Clients create card tokens before they name a merchant. The first merchant to use a token owns it, so a leaked token pays
 * nowhere else. The row belongs to no merchant: if two use a token at the same time, the primary key lets one succeed.
 */
async function createTokenMerchants(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('token_merchants')} (
      jti text COLLATE "C" NOT NULL,
      merchant_id text COLLATE "C" NOT NULL,
      expires timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('token_merchants_pk')} PRIMARY KEY (jti)
    )`.execute(db)
  await sql`
    CREATE INDEX ${names.local('token_merchants_expires_ix')} ON ${names.id('token_merchants')} (expires)`.execute(db)
}

async function createSpentTokens(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('spent_tokens')} (
      merchant_id text COLLATE "C" NOT NULL,
      jti text NOT NULL,
      expires timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('spent_tokens_pk')} PRIMARY KEY (merchant_id, jti)
    )`.execute(db)
  await sql`
    CREATE INDEX ${names.local('spent_tokens_expires_ix')} ON ${names.id('spent_tokens')} (expires, merchant_id)
  `.execute(db)
}
