import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { readCatalogue } from '@trestle/database/rehearsal/drift.ts'
import { expect, it } from 'vitest'
import {
  adopt,
  openAdopted,
  prepare,
  type Restored,
  restore,
  restoreAdopted,
} from '../../../test/adoption/adopted-app.ts'
import { PLAIN_OF_2_43, plainSession } from '../../../test/adoption/plain-user.ts'
import { loadDump, runSql } from '../../../test/adoption/restored-database.ts'
import { statusAndBody } from '../../../test/bodies.ts'
import { createQuietDeps } from '../../commands/operator-deps.ts'
import { adoptCommand } from '../commands/adopt.ts'
import { forgetAdoption, undoAdoption } from '../use-cases/undo-adoption.ts'

/** Leaves the database as a restore of only its schemas `auth` and `public` would. Triggers are dropped with their functions. */
async function restoreInPart({ database }: Restored): Promise<void> {
  await runSql(database.superuserUrl, 'DROP SCHEMA auth_before_trestle, auth_adopting, auth_jobs CASCADE')
}

const readSchema = ({ database }: Restored) =>
  withDatabase({ url: database.superuserUrl }, (db) =>
    db.transaction().execute(async (trx) => [...(await readCatalogue(trx, { schema: 'auth', prefix: '' }))].sort()),
  )

/** Runs `auth adopt` and returns the last printed line. */
async function run({ deps }: Restored, ...flags: readonly string[]): Promise<string | undefined> {
  const lines: string[] = []
  const command = adoptCommand(() => createQuietDeps(deps.config), {
    print: (line) => lines.push(line),
    ask: async () => undefined,
  })
  await command.parseAsync(flags, { from: 'user' })
  return lines.at(-1)
}

it.each([
  ['v2.43.1', PLAIN_OF_2_43],
  ['v2.196.0', {}],
] as const)(
  'a prepared database of %s that was restored without the record of its adoption is adopted, and can go back',
  async (version, members) => {
    const restored = await restore(version)
    const before = await readSchema(restored)
    await prepare(restored)
    await restoreInPart(restored)
    expect(await run(restored, '--check')).toBe(
      'ok         an adoption has begun: run auth adopt again, which continues it',
    )
    await adopt(restored)
    const app = await openAdopted(restored)
    const plain = app.user('plain')
    const refresh_token = plain?.sessions.at(-1)?.refresh_token
    const refreshed = await app.post('/token?grant_type=refresh_token', { refresh_token })
    expect(statusAndBody(refreshed)).toEqual([200, plainSession(plain, members)])
    await app.close()
    expect(await run(restored, '--undo', '--yes')).toBe('the old service has its database back')
    expect(await readSchema(restored)).toEqual(before)
  },
)

it.each(['v2.43.1', 'v2.196.0'] as const)(
  'adopt --undo takes back what --prepare has made in a database of %s that was restored without the record',
  async (version) => {
    const restored = await restore(version)
    const before = await readSchema(restored)
    await prepare(restored)
    await restoreInPart(restored)
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
    expect(await readSchema(restored)).toEqual(before)
    await adopt(restored)
  },
)

it('a dump that replaces an adopted schema in place is adopted anew after adopt --forget, which each command names', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const { superuserUrl } = restored.database
  const [{ at } = { at: undefined }] = await runSql<{ at: Date }>(
    superuserUrl,
    'SELECT switched_at AS at FROM auth_before_trestle.adoption',
  )
  await runSql(superuserUrl, 'DROP SCHEMA auth, public CASCADE; CREATE SCHEMA public')
  await loadDump(superuserUrl, 'v2.196.0')
  const reason = new Error(
    `the schema auth lacks the tables of this service, which took over at ${at?.toISOString()}: a dump from before has replaced it. auth adopt --forget drops what is left of that adoption; the old service may serve then, and auth adopt begins anew`,
  )
  for (const flags of [['--check'], ['--prepare'], [], ['--undo', '--yes']])
    await expect(run(restored, ...flags)).rejects.toThrow(reason)
  expect(await run(restored, '--forget', '--yes')).toBe('dropped what adopt --undo needs')
  expect((await adopt(restored)).version).toBe(restored.database.manifest.migration)
})

it('adopt --check succeeds after adopt --forget, and says that there is no way back', async () => {
  const restored = await restore('v2.196.0')
  await adopt(restored)
  await forgetAdoption(restored.deps, async () => true)
  expect(await run(restored, '--check')).toBe(
    'ok         the database is adopted for good, without a way back: start the service',
  )
  const reason = new Error(
    'the schema auth is adopted for good: adopt --forget has dropped what undo needs, or the dump from which it was restored lacks the schema auth_before_trestle. Start the service',
  )
  await expect(adopt(restored)).rejects.toThrow(reason)
  await expect(prepare(restored)).rejects.toThrow(reason)
  await expect(run(restored, '--undo', '--yes')).rejects.toThrow(reason)
})
