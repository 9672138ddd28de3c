import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../../test/console-app.ts'
import { type Created, createMerchant } from '../../../../test/merchants.ts'
import { type RunningService, startService } from '../../../../test/services.ts'

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

const isKeyGood = async ({ appKey }: Created) => {
  const authorization = `Basic ${Buffer.from(`:${appKey}`).toString('base64')}`
  return (await fetch(`${services[1].url}/me`, { headers: { authorization } })).ok
}

describe('POST /merchants/:merchantId/apps/:appId/keys', () => {
  it('303: revokes after a question that names what will happen, and tells so', async () => {
    const browser = await test.signedIn('admin')
    const path = `/merchants/${shop.merchantId}/apps/${shop.appId}/keys`
    expect((await browser.open(`/merchants/${shop.merchantId}`)).html).toContain(`href="${path}" data-ask`)
    expect((await browser.open(path)).text).toBe(
      'Revoke all keys of Nordhavn Coffee Every API key of Nordhavn Coffee stops working at once, for all merchants that the app serves. Payments of Nordhavn Coffee through this app fail until it has a new key. This cannot be undone. Revoke keys Cancel',
    )
    expect(await isKeyGood(shop)).toBe(true)
    const page = await browser.submit(path)
    expect([page.firstStatus, page.status, page.path]).toEqual([303, 200, `/merchants/${shop.merchantId}`])
    expect(page.html).toContain('<span>The keys of the app are revoked</span>')
    expect(await isKeyGood(shop)).toBe(false)
    expect((await browser.open(`/merchants/${shop.merchantId}`)).html).not.toContain('The keys of the app are revoked')
  })

  it('404: shows an error page for an app of another merchant', async () => {
    const browser = await test.signedIn('admin')
    const page = await browser.open(`/merchants/${shop.merchantId}/apps/${shop.merchantId}/keys`)
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })

  it('403: shows no form to a role without the right', async () => {
    const browser = await test.signedIn('support')
    const page = await browser.open(`/merchants/${shop.merchantId}/apps/${shop.appId}/keys`)
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })

  it('403: changes nothing for a role without the right that posts the form', async () => {
    const other = await createMerchant(services[1], 'Kaffebar')
    const browser = await test.signedIn('support')
    const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec((await browser.open('/')).html) ?? []
    const fields = { _csrf: csrf, _key: crypto.randomUUID() }
    const page = await browser.post(`/merchants/${other.merchantId}/apps/${other.appId}/keys`, fields)
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
    expect(await isKeyGood(other)).toBe(true)
  })

  it('403: refuses a form without the token of the session', async () => {
    const browser = await test.signedIn('admin')
    const path = `/merchants/${shop.merchantId}/apps/${shop.appId}/keys`
    const page = await browser.post(path, { _csrf: 'x', _key: 'k' })
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed This form did not come from the console. Open the page again, at the address of the console. Go to the overview',
    ])
  })
})
