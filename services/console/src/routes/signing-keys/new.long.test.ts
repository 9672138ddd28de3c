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
    const add = async () => {
      await browser.open('/signing-keys/new')
      return browser.submit('/signing-keys/new', { algorithm: 'ES256', kid: 'spring' })
    }
    expect((await add()).path).toBe('/signing-keys')
    const again = await add()
    expect([again.status, again.text]).toEqual([
      422,
      'Add a signing key The key is published at once, and signs once it is promoted. A signing key with this kid exists or has existed Algorithm ES256 EdDSA RS256 Id (optional) Letters, digits, dots, colons, underscores and dashes. Empty: a random one. Add Cancel',
    ])
  })

  it('403: shows no form to the role support', async () => {
    const page = await (await test.signedIn('support')).open('/signing-keys/new')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })
})
