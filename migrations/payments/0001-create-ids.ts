// An id carries the database's clock, a counter and the tag of its merchant. So ids sort by time, and the last eight digits
// of an id find the merchant that the row belongs to.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createIds: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // Five hexadecimal digits of an id: 2^20 ids in a millisecond before one repeats.
    await sql`CREATE SEQUENCE ${names.id('id_counter')} MINVALUE 0 MAXVALUE 1048575 START 0 CYCLE`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP SEQUENCE ${names.id('id_counter')}`.execute(db)
  },
})
