import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type RunningService, startService } from '../../test/services.ts'

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

const plain = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]
const TABS = 'Settings Providers, hooks, limits Signing keys'

describe('GET /signing-keys', () => {
  it('200: says what signs while there is no key, and offers a viewer nothing', async () => {
    const page = await (await test.signedIn('viewer')).open('/signing-keys')
    expect([page.status, page.text]).toEqual([
      200,
      `${TABS} There is no key: the shared secret signs. Add one, so that others verify without it.`,
    ])
  })
})

describe('POST /signing-keys/:kid/:change', () => {
  it('303: retires a waiting key after a question, and offers no further change of the key', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/signing-keys/new')
    const added = await browser.submit('/signing-keys/new', { algorithm: 'ES256', kid: 'spring' })
    expect([toastOf(added.html), plain(added.text)]).toEqual([
      'The key is added',
      'Settings Add a key… Providers, hooks, limits Signing keys Key State Algorithm Added Actions spring Waits ES256 TIME Promote… Retire…',
    ])
    expect((await browser.open('/signing-keys/spring/retirement')).text).toBe(
      'Retire the key spring The key leaves the key set, and never signs. This cannot be undone: its id is never given again. Retire Cancel',
    )
    const page = await browser.submit('/signing-keys/spring/retirement')
    expect([page.firstStatus, toastOf(page.html), plain(page.text).endsWith('spring Over ES256 TIME')]).toEqual([
      303,
      'The key is retired',
      true,
    ])
  })

  it('422: shows why auth does not promote a key that clients may not know yet', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/signing-keys/new')
    await browser.submit('/signing-keys/new', { algorithm: 'EdDSA', kid: 'summer' })
    await browser.open('/signing-keys/summer/promotion')
    const page = await browser.submit('/signing-keys/summer/promotion')
    expect([page.status, page.text.startsWith('Sign with the key summer ')]).toEqual([422, true])
  })

  it('404: shows an error page for an unknown key', async () => {
    const page = await (await test.signedIn('admin')).open('/signing-keys/winter/promotion')
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})
