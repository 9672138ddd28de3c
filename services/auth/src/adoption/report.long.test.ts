import { expect, it } from 'vitest'
import { adopt, openAdopted, type Restored, restore } from '../../test/adoption/adopted-app.ts'
import { openBeside } from '../../test/adoption/imported-app.ts'
import { runSql } from '../../test/adoption/restored-database.ts'
import { errorBody } from '../../test/bodies.ts'
import { createQuietDeps } from '../commands/operator-deps.ts'
import { adoptCommand } from './commands/adopt.ts'
import { importCommand } from './commands/import-database.ts'
import { checkAdoption } from './use-cases/check-adoption.ts'

/** Gives users another `instance_id` or none, as a seed file may. Returns their ids in order. */
async function giveOtherInstances({ database }: Restored): Promise<readonly string[]> {
  const idOf = (name: string) => database.manifest.users.find((user) => user.name === name)?.id ?? ''
  const ids = ['plain', 'totp']
  const [plain, totp, phone] = [...ids, 'phone'].map(idOf)
  await runSql(
    database.superuserUrl,
    `UPDATE auth.users SET instance_id = NULL WHERE id = '${plain}';
     UPDATE auth.users SET instance_id = '11111111-1111-1111-1111-111111111111' WHERE id = '${totp}';
     UPDATE auth.users SET instance_id = NULL, deleted_at = now() WHERE id = '${phone}'`,
  )
  return ids.map(idOf).sort()
}

const lineOf = (ids: readonly string[]) =>
  `gained     2 users have another instance_id than that of supabase/auth, which finds none of them: they sign in here: ${ids.join(', ')}`

it('adopt --check names users whom supabase/auth finds by nothing, and who sign in here', async () => {
  const restored = await restore('v2.196.0')
  const ids = await giveOtherInstances(restored)
  const lines: string[] = []
  const conversation = { print: (line: string) => lines.push(line), ask: async () => undefined }
  await adoptCommand(() => createQuietDeps(restored.deps.config), conversation).parseAsync(['--check'], {
    from: 'user',
  })
  expect(lines.filter((line) => line.startsWith('gained'))).toEqual([lineOf(ids)])
  await adopt(restored)
  const app = await openAdopted(restored)
  const { email, password } = app.user('plain') ?? {}
  expect((await app.post('/token?grant_type=password', { email, password })).statusCode).toBe(200)
})

it('an import names users whom supabase/auth finds by nothing, and who sign in here', async () => {
  const restored = await restore('v2.196.0')
  const ids = await giveOtherInstances(restored)
  const { deps } = await openBeside(restored)
  const lines: string[] = []
  const conversation = { print: (line: string) => lines.push(line), ask: async () => undefined }
  const run = (...flags: readonly string[]) =>
    importCommand(() => createQuietDeps(deps.config), conversation).parseAsync(
      ['--from-database', restored.database.url, ...flags],
      {
        from: 'user',
      },
    )
  await run()
  expect(lines.filter((line) => line.startsWith('gained'))).toEqual([lineOf(ids)])
  lines.length = 0
  await run('--json')
  expect(lines.map((line) => JSON.parse(line).other_instances)).toEqual([{ count: 2, ids }])
})

const idOf = ({ database }: Restored, name: string) => database.manifest.users.find((user) => user.name === name)?.id

/**
 * Stores a phone in national form for a user with a password, and a phone with a `+`, as SQL or an early version of supabase/auth
 * may.
 */
async function storeOddPhones(restored: Restored): Promise<void> {
  await runSql(
    restored.database.superuserUrl,
    `UPDATE auth.users SET phone = '015112345678' WHERE id = '${idOf(restored, 'phone')}';
     UPDATE auth.users SET phone = '+4915112345' WHERE id = '${idOf(restored, 'plain')}'`,
  )
}

const unfound = (restored: Restored) => ({
  what: `users whose phone has a + or a blank, by which nobody signs in at supabase/auth either: users ${idOf(restored, 'plain')}`,
  count: 1,
})
const lost = (restored: Restored) => ({
  what: `users whose phone is no number of E.164, who sign in by it and a password in the profile supabase alone: users ${idOf(restored, 'phone')}`,
  count: 1,
})

it('a user whose phone is stored in national form signs in by it and the password after adopt, as at the old service', async () => {
  const restored = await restore('v2.43.1')
  await storeOddPhones(restored)
  const { losses } = await checkAdoption(restored.deps, { force: false })
  expect(losses.filter(({ what }) => what.includes('phone'))).toEqual([unfound(restored)])
  await adopt(restored)
  const app = await openAdopted(restored)
  const password = app.user('phone')?.password
  const signIn = async (phone: string) => (await app.post('/token?grant_type=password', { phone, password })).json()
  for (const phone of ['015112345678', '0151 1234 5678'])
    expect((await signIn(phone)).user?.id).toBe(idOf(restored, 'phone'))
  const unknown = errorBody(400, 'invalid_credentials', 'Invalid login credentials')
  for (const phone of ['015112345679', 'no phone', '+', ' ']) expect(await signIn(phone)).toEqual(unknown)
})

it('adopt --check and an import name users whose phones a profile does not look for', async () => {
  const restored = await restore('v2.43.1')
  await storeOddPhones(restored)
  const { deps } = restored
  const compatibility = { ...deps.config.compatibility, findUserByMalformedPhone: false }
  const { losses } = await checkAdoption({ ...deps, config: { ...deps.config, compatibility } }, { force: false })
  expect(losses.filter(({ what }) => what.includes('phone'))).toEqual([unfound(restored), lost(restored)])
  const imported = await (await openBeside(restored)).run()
  expect(imported.losses.filter(({ what }) => what.includes('phone'))).toEqual([unfound(restored)])
})
