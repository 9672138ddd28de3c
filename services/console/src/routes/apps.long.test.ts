import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type Created, createMerchant } from '../../test/merchants.ts'
import { type RunningService, startService } from '../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
let shop: Created
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
  shop = await createMerchant(services[1], 'Nordhavn Coffee')
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) =>
  text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME').replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')
const FILTERS = 'Name, id, or last 4 of a key Filter'

describe('GET /apps', () => {
  it('200: finds an app by the last characters of its key, and says when there is none', async () => {
    const browser = await test.signedIn('viewer')
    const hint = shop.appKey.slice(-4)
    const found = await browser.open(`/apps?search=${hint}`)
    expect([found.status, plain(found.text)]).toEqual([
      200,
      `Apps ${FILTERS} App Id Keys Created ↓ Nordhavn Coffee ID …${hint} Good never used TIME`,
    ])
    const none = await browser.open('/apps?search=nobody')
    expect([none.status, none.text]).toEqual([200, `Apps ${FILTERS} No app matches. Clear the filters`])
  })
})

describe('POST /apps/:appId/:change', () => {
  it('303: revokes the keys of an app after a question, and no longer offers to revoke them', async () => {
    const browser = await test.signedIn('admin')
    const path = `/apps/${shop.appId}/keys`
    expect((await browser.open('/apps')).html).toContain(`href="${path}" data-ask`)
    expect((await browser.open(path)).text).toBe(
      'Revoke all keys of Nordhavn Coffee Every API key of Nordhavn Coffee stops working at once, for all merchants that the app serves. Payments through this app fail until it has a new key. This cannot be undone. Revoke keys Cancel',
    )
    const page = await browser.submit(path)
    expect([page.firstStatus, page.path, page.html.includes('<span>The keys of the app are revoked</span>')]).toEqual([
      303,
      '/apps',
      true,
    ])
    expect([page.text.includes('Revoked'), page.html.includes(path)]).toEqual([true, false])
  })

  it('404: shows an error page for an unknown app', async () => {
    const page = await (await test.signedIn('admin')).open(`/apps/${'0'.repeat(24)}/keys`)
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})
