import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { type RunningService, startService } from '../../../test/services.ts'

let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth')
  test = await openTestConsole([auth])
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

describe('POST /signing-keys/new', () => {
  it('422: shows why auth adds no key with an id that a key has', async () => {
    const browser = await test.signedIn('admin')
    const statuses = []
    for (const kid of ['spring', 'spring']) {
      await browser.open('/signing-keys/new')
      statuses.push((await browser.submit('/signing-keys/new', { algorithm: 'ES256', kid })).status)
    }
    expect(statuses).toEqual([200, 422])
  })

  it('403: asks nothing of the role support', async () => {
    expect((await (await test.signedIn('support')).open('/signing-keys/new')).status).toBe(403)
  })
})
