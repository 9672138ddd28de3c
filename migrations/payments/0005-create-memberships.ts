// Why: any number of apps and people share a merchant with the same rights; membership is read by every request.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

async function createMembers(db: Kysely<unknown>, names: Names, noun: 'app' | 'user'): Promise<void> {
  const table = `merchant_${noun}s`
  const member = sql.id(`${noun}_id`)
  await sql`
    CREATE TABLE ${names.id(table)} (
      merchant_id text COLLATE "C" NOT NULL,
      ${member} text COLLATE "C" NOT NULL,
      pending boolean NOT NULL DEFAULT false,
      invited_by text COLLATE "C",
      created timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local(`${table}_pk`)} PRIMARY KEY (merchant_id, ${member}),
      CONSTRAINT ${names.local(`${table}_merchant_fk`)} FOREIGN KEY (merchant_id)
        REFERENCES ${names.id('merchants')} (id),
      CONSTRAINT ${names.local(`${table}_${noun}_fk`)} FOREIGN KEY (${member}) REFERENCES ${names.id(`${noun}s`)} (id)
    )`.execute(db)
  await sql`CREATE INDEX ${names.local(`${table}_list_ix`)} ON ${names.id(table)} (${member}, merchant_id DESC)`.execute(
    db,
  )
}

export const createMemberships: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createMembers(db, names, 'app')
    await createMembers(db, names, 'user')
    await sql`
      CREATE FUNCTION ${names.id('membership')}(p_merchant_id text, p_identity_id text)
      RETURNS TABLE (merchant_id text) LANGUAGE sql STABLE AS $$
        SELECT a.merchant_id FROM ${names.id('merchant_apps')} a
        WHERE a.merchant_id = p_merchant_id AND a.app_id = p_identity_id AND NOT a.pending
        UNION ALL
        SELECT u.merchant_id FROM ${names.id('merchant_users')} u
        WHERE u.merchant_id = p_merchant_id AND u.user_id = p_identity_id AND NOT u.pending
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('membership')}(text, text)`.execute(db)
    await sql`DROP TABLE ${names.id('merchant_users')}, ${names.id('merchant_apps')}`.execute(db)
  },
})
