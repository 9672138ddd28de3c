import { type MigrateOptions, migrateAtStart, migrateUp } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { citusCluster } from './cluster.ts'
import { stateStatements } from './notes.ts'

it.each([
  ['distributing', 'the database is being distributed: run distribute again'],
  ['undoing', 'the distribution is being undone: run distribute --undo again'],
] as const)('refuses a database that is %s, although its last run was complete', async (state, message) => {
  const database = await createEmptyDatabase()
  onTestFinished(() => database.drop())
  const options: MigrateOptions = {
    url: database.url,
    names: createNames('example'),
    sources: {},
    cluster: citusCluster,
  }
  await migrateUp(options)
  await withDatabase(database, async (db) => {
    for (const statement of stateStatements(options.names, state)) await sql.raw(statement).execute(db)
  })
  await expect(migrateAtStart(options)).rejects.toThrow(message)
  await expect(migrateUp(options)).rejects.toThrow(message)
})
