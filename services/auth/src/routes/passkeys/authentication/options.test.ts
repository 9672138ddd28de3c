import { afterAll, beforeAll, expect, it } from 'vitest'
import { anyId } from '../../../../test/bodies.ts'
import { openPasskeyApp, type PasskeyApp, paths } from '../../../../test/passkey-app.ts'

let test: PasskeyApp
beforeAll(async () => {
  test = await openPasskeyApp()
})
afterAll(() => test.close())

it('200: POST /passkeys/authentication/options asks for any passkey and names no account', async () => {
  const asked = await test.post(paths.signIn, {})
  expect([asked.statusCode, asked.json()]).toEqual([
    200,
    {
      challenge_id: anyId,
      options: {
        rpId: 'app.example.com',
        challenge: expect.stringMatching(/^[\w-]{43}$/),
        timeout: 300000,
        userVerification: 'preferred',
      },
      expires_at: Math.floor(test.clock.now().getTime() / 1_000) + 300,
    },
  ])
  expect(asked.headers['cache-control']).toBe('no-store')
  expect(await test.ask()).not.toEqual(asked.json())
})
