// Users: the list that the API shows. Its reference promises these five users, with ids 1 to 5, in each new database.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createUsers: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE TABLE ${names.id('users')} (
      id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
      username text COLLATE "C" NOT NULL,
      first_name text NOT NULL,
      last_name text NOT NULL,
      CONSTRAINT ${names.local('users_pkey')} PRIMARY KEY (id),
      CONSTRAINT ${names.local('users_username_key')} UNIQUE (username),
      CONSTRAINT ${names.local('users_username_check')} CHECK (username = lower(username COLLATE "default"))
    )`.execute(db)
    await sql`INSERT INTO ${names.id('users')} (username, first_name, last_name) VALUES
      ('bill.gates', 'Bill', 'Gates'),
      ('steve.jobs', 'Steve', 'Jobs'),
      ('mark.zuckerberg', 'Mark', 'Zuckerberg'),
      ('evan.spiegel', 'Evan', 'Spiegel'),
      ('jack.dorsey', 'Jack', 'Dorsey')`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('users')}`.execute(db)
  },
})
