import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// The statements of hot functions find rows by key: one plan serves all values. PostgreSQL would plan some of them anew at
// each call, because a plan that knows the values (a null limit, a switch that is off) looks cheaper than it is to make:
// a third of the time of a refresh. And the one plan must not be made for tables that were small that day: what finds rows by
// key never reads a whole table. A function that is made later says so where it is made.
const HOT = ['create_session', 'finish_password_login', 'refresh_session', 'log_out']

export const keepPlans: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    for (const name of HOT) {
      await sql`ALTER FUNCTION ${names.id(name)} SET plan_cache_mode = 'force_generic_plan'`.execute(db)
      await sql`ALTER FUNCTION ${names.id(name)} SET enable_seqscan = 'off'`.execute(db)
    }
  },
  async down(db: Kysely<unknown>) {
    for (const name of HOT) await sql`ALTER FUNCTION ${names.id(name)} RESET ALL`.execute(db)
    await sql`ALTER FUNCTION ${names.id('refresh_session')} SET lock_timeout = '5s'`.execute(db)
  },
})
