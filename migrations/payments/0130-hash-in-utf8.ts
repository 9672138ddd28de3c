// Why: `record_send` writes texts in the encoding of the session's client. With another one than UTF-8 a caller made links that do
// not follow, and `ledger verify` told the chain as broken for good.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

const HASHING = [
  ['post', (names: Names) => sql`${names.id('movement')}[]`],
  ['record_states', () => sql`text, text, text[]`],
  ['row_digests', () => sql`text, text, text[]`],
] as const

export const hashInUtf8: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    for (const [name, types] of HASHING) {
      await sql`ALTER FUNCTION ${names.id(name)}(${types(names)}) SET client_encoding = 'UTF8'`.execute(db)
    }
  },
  async down(db: Kysely<unknown>) {
    for (const [name, types] of HASHING) {
      await sql`ALTER FUNCTION ${names.id(name)}(${types(names)}) RESET client_encoding`.execute(db)
    }
  },
})
