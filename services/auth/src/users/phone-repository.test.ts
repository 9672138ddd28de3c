import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { countPhonePairs } from './phone-repository.ts'

const { deps, close } = await openTestApp()
afterAll(close)

it('counts users whose number is that of another user when it is parsed', async () => {
  const add = async (phone: string | null, members: object = {}) =>
    (await createSignedUp(deps, { phone, ...members })).user.id
  expect(await countPhonePairs(deps.db)).toEqual({ count: 0, first: undefined })
  const [first, second] = [await add('447418084106'), await add('4407418084106')]
  // Neither number is the one that is dialled.
  await add('49015112345678')
  await add('490015112345678')
  // No other user has the number of these.
  for (const phone of ['440741808410', '14155550100', '4915', 'no phone', '', null]) await add(phone)
  await add('460701234567')
  await add('46701234567', { staged_at: new Date() })
  expect(await countPhonePairs(deps.db)).toEqual({ count: 2, first: [second, first] })
})
