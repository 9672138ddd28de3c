import { expect, it } from 'vitest'
import { adopt, openAdopted, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { openBeside } from '../../../test/adoption/imported-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { errorBody } from '../../../test/bodies.ts'
import { checkAdoption } from '../use-cases/check-adoption.ts'

const idOf = ({ database }: Restored, name: string) => database.manifest.users.find((user) => user.name === name)?.id

/**
 * Stores a phone in national form with a password, and one with a `+`, as SQL or an early version of
 * supabase/auth does.
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
  const behaviours = { ...deps.config.behaviours, findUserByMalformedPhone: false }
  const { losses } = await checkAdoption({ ...deps, config: { ...deps.config, behaviours } }, { force: false })
  expect(losses.filter(({ what }) => what.includes('phone'))).toEqual([unfound(restored), lost(restored)])
  const imported = await (await openBeside(restored)).run()
  expect(imported.losses.filter(({ what }) => what.includes('phone'))).toEqual([unfound(restored)])
})
