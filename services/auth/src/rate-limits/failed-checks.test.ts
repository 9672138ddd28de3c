import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { outcomeOf, wrongPassword } from '../../test/bodies.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const test = await openTestApp({
  settings: { AUTH_SECURITY_FAILED_ATTEMPTS: '2', AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' },
})
afterAll(() => test.close())

// ASVS 6.3.1
it.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff::2', '2001:db8:1:3::1'],
  ['192.0.2.1', '192.0.2.1', '192.0.2.2'],
])('refuses the right password after guesses from %s and %s, and accepts it from %s', async (one, other, elsewhere) => {
  const { email, password } = await createSignedUp(test.deps)
  const tryPassword = async (guess: string, address: string) => {
    const headers = { 'auth-forwarded-for': address }
    const payload = { email, password: guess }
    return outcomeOf(await test.app.inject({ method: 'POST', url: '/token?grant_type=password', headers, payload }))
  }
  expect([await tryPassword('guess 1', one), await tryPassword('guess 2', other)]).toEqual([
    wrongPassword,
    wrongPassword,
  ])
  expect([await tryPassword(password, one), await tryPassword(password, elsewhere)]).toEqual([wrongPassword, 200])
})
