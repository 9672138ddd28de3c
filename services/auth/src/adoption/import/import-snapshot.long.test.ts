import { createNames } from '@trestle/database/names.ts'
import { createTemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { restore } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { importPlacesOf } from './import-record.ts'
import { createStages, stageUsers } from './import-snapshot.ts'
import { withSource } from './source-database.ts'

const MIB = 1024 * 1024

it('carries the rows of a batch in parts of some MiB, whatever users have in their metadata', async () => {
  const { database } = await restore('v2.151.0')
  const target = await createTemporaryDatabase({ template: 'empty', migrate: async () => {} })
  onTestFinished(() => target.drop())
  await runSql(
    database.superuserUrl,
    `UPDATE auth.users SET raw_user_meta_data = jsonb_build_object('picture', repeat('x', ${MIB}))`,
  )
  const lengths: number[] = []
  const client = new pg.Client({ connectionString: target.directUrl })
  await client.connect()
  const connect = async () => Object.assign(client, { release: () => {} })
  const pool = { options: {}, connect, end: () => client.end() }
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => {
      lengths.push(...query.parameters.map((each) => String(each).length))
    },
  })
  const places = importPlacesOf(createNames('auth'))
  await db.transaction().execute((trx) =>
    withSource({ url: database.url, schema: 'auth' }, async (source) => {
      const { rows } = await sql<{ id: string }>`SELECT id FROM auth.users`.execute(source.db)
      const wanted = sql`SELECT unnest(${rows.map(({ id }) => id)}::uuid[]) AS id`
      await createStages({ trx, places, source })
      await stageUsers({ trx, places, source }, wanted)
      const staged = await sql`
        SELECT count(*)::int AS users, min(length(raw_user_meta_data ->> 'picture')) AS shortest
        FROM ${sql.id(places.kept, 'users')}`.execute(trx)
      expect(staged.rows).toEqual([{ users: rows.length, shortest: MIB }])
      expect(rows.length).toBeGreaterThan(10)
    }),
  )
  await db.destroy()
  expect(Math.max(...lengths)).toBeLessThan(5 * MIB)
})
