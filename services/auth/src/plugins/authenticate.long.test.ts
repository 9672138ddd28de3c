import { holdBodies } from '@trestle/testing/hold-bodies.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { createSignedIn } from '../../test/signed-in.ts'

/** The number of bodies of unknown size that one client may send at the same time. */
const SHARE = 2

let test: TestApp
let url: string
beforeAll(async () => {
  test = await openTestApp()
  url = await test.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => test.close())

it('200: changes a user while the slow bodies of another user at the same address hold their share', async () => {
  const [slow, other] = [await createSignedIn(test), await createSignedIn(test)]
  await using held = await holdBodies(url, SHARE, { method: 'PUT', path: '/user', headers: slow.headers })
  const answer = await fetch(`${url}/user`, {
    method: 'PUT',
    headers: { ...other.headers, 'content-type': 'application/json' },
    body: `{"data":{"color":"green"}}${' '.repeat(50_000)}`,
  })
  expect(answer.status).toBe(200)
  expect(held.countAnswered()).toBe(0)
})
