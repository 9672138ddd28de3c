// An id contains the time of the database, a counter and the tag of its merchant. So ids sort by time, and the last eight digits
// identify the merchant of the row.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createIds: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // Five hexadecimal digits of an id allow 2^20 ids in a millisecond without repetition.
    await sql`CREATE SEQUENCE ${names.id('id_counter')} MINVALUE 0 MAXVALUE 1048575 START 0 CYCLE`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP SEQUENCE ${names.id('id_counter')}`.execute(db)
  },
})
