import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import { expect, it, onTestFinished } from 'vitest'
import { adopt, openAdopted, prepare, restore } from '../../test/adoption/adopted-app.ts'
import { runSql } from '../../test/adoption/restored-database.ts'
import { openTestDatabase } from '../../test/auth-database.ts'
import { readColumns } from '../schema/catalog.ts'
import { listChangedTypes, UPSTREAM_COLUMNS } from './upstream-tables.ts'
import { checkAdoption } from './use-cases/check-adoption.ts'

const ENUM = `CREATE TYPE public.user_role AS ENUM ('authenticated', 'service_role', '');
  ALTER TABLE auth.users ALTER COLUMN role TYPE public.user_role USING role::public.user_role`
const isChanged = (column: string, [type, expected]: readonly [type: string, expected: string], value: string) => {
  const [table, name] = [column.replace(/\.\w+$/, ''), column.replace(/^.*\./, '')]
  return `the column ${column} has the type ${type}, which this service cannot write as ${expected}: run ALTER TABLE ${table} ALTER COLUMN ${name} TYPE ${expected} USING ${value}`
}

it.each([
  ['an enumeration of an operator', ENUM, isChanged('auth.users.role', ['public.user_role', 'text'], 'role::text')],
  [
    'a domain over it',
    `CREATE TYPE public.levels AS ENUM ('aal1', 'aal2', 'aal3');
     CREATE DOMAIN public.level AS public.levels;
     ALTER TABLE auth.sessions ALTER COLUMN aal TYPE public.level USING aal::text::public.level`,
    isChanged('auth.sessions.aal', ['public.level', 'auth.aal_level'], 'aal::text::auth.aal_level'),
  ],
  [
    'json where this service compares it',
    `ALTER TABLE auth.identities DROP COLUMN email;
     ALTER TABLE auth.identities ALTER COLUMN identity_data TYPE json`,
    isChanged('auth.identities.identity_data', ['json', 'jsonb'], 'identity_data::text::jsonb'),
  ],
])('adopt refuses a column with another type, which --check names: %s', async (_what, change, obstacle) => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, change)
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([obstacle])
  await expect(prepare(restored)).rejects.toThrow(new Error(obstacle))
  await runSql(superuserUrl, obstacle.split(': run ')[1] ?? '')
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([])
})

it('adopt refuses a type that is changed after --prepare, before the switch', async () => {
  const restored = await restore('v2.101.0')
  await prepare(restored)
  await runSql(restored.database.superuserUrl, ENUM)
  await expect(adopt(restored)).rejects.toThrow(
    new Error(isChanged('auth.users.role', ['public.user_role', 'text'], 'role::text')),
  )
})

it('users sign up in an adopted database whose columns have types that this service can write', async () => {
  const restored = await restore('v2.196.0')
  await runSql(
    restored.database.superuserUrl,
    `DROP VIEW public.people; CREATE SCHEMA extensions; CREATE EXTENSION citext SCHEMA extensions; GRANT USAGE ON SCHEMA extensions TO PUBLIC;
     CREATE DOMAIN public.number AS text; CREATE DOMAIN public.phone AS public.number;
     ALTER TABLE auth.users ALTER COLUMN email TYPE extensions.citext, ALTER COLUMN phone TYPE public.phone,
       ALTER COLUMN role TYPE text, ALTER COLUMN raw_app_meta_data TYPE json, ALTER COLUMN raw_user_meta_data TYPE json`,
  )
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([])
  await adopt(restored)
  const { post } = await openAdopted(restored)
  const answers: number[] = []
  for (const address of [{ email: 'New@example.com' }, { phone: '4915112345678' }]) {
    for (const path of ['/signup', '/token?grant_type=password'])
      answers.push((await post(path, { ...address, password: 'correct horse battery', data: { n: 1 } })).statusCode)
  }
  expect(answers).toEqual([200, 200, 200, 200])
})

it('a new database of this service has the types that an adopted one must have', async () => {
  const database = await openTestDatabase()
  onTestFinished(() => database.drop())
  const names = createNames('auth', '')
  const known = Object.entries(UPSTREAM_COLUMNS)
  const found = await withDatabase({ url: database.url }, async (db) => {
    const missing: string[] = []
    for (const [table, columns] of known) {
      const made = await readColumns(db, 'auth', table)
      missing.push(...columns.filter((column) => !made.has(column)))
    }
    return { missing, changed: await listChangedTypes(db, names) }
  })
  expect(found).toEqual({ missing: [], changed: [] })
})
