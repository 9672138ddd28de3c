// Any number of apps and users share a merchant with equal rights. Every request reads the membership of its caller.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createMemberships: MigrationSource = (names) => ({
  tables: { merchant_apps: 'reference', merchant_users: 'reference' },
  async up(db: Kysely<unknown>) {
    await createMembers(db, names, 'app')
    await createMembers(db, names, 'user')
    await hideSharedRecord(db, names.id('merchant_users'), names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('merchant_users')}, ${names.id('merchant_apps')}`.execute(db)
  },
})

async function createMembers(db: Kysely<unknown>, names: Names, noun: 'app' | 'user'): Promise<void> {
  const table = `merchant_${noun}s`
  const member = sql.id(`${noun}_id`)
  await sql`
    CREATE TABLE ${names.id(table)} (
      merchant_id text COLLATE "C" NOT NULL,
      ${member} text COLLATE "C" NOT NULL,
      ${noun === 'user' ? nameColumns : sql``}
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

const nameColumns = sql`
      member_id text COLLATE "C",
      email text,`

/**
 * Merchants share the record of a user. Its id and date would reveal to a member that another merchant has invited the address.
 * So members see an id and an address that belong only to the membership.
 */
async function hideSharedRecord(db: Kysely<unknown>, table: RawBuilder<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE UNIQUE INDEX ${names.local('merchant_users_member_uq')}
      ON ${table} (merchant_id, coalesce(member_id, user_id))`.execute(db)
  await sql`
    COMMENT ON COLUMN ${table}.member_id IS
      'What members of the merchant see as the id of the user; null where it is the user''s own: whoever made the merchant, and who was invited before there was one'
  `.execute(db)
  await sql`
    COMMENT ON COLUMN ${table}.email IS 'The address as the merchant wrote it; null as member_id'`.execute(db)
}
