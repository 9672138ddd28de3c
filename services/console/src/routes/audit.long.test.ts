import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createMerchant } from '../../test/merchants.ts'
import { createUser, type RunningService, startService } from '../../test/services.ts'

let services: readonly [RunningService, RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments'), startService('inventory')])
  test = await openTestConsole(services)
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const plain = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')

describe('GET /audit/:service', () => {
  it('200: says who did what to a user, found by a whole action', async () => {
    const { id } = await createUser(services[0], 'ada@example.com')
    const support = await test.signedIn('support')
    await support.open(`/users/${id}/ban`)
    await support.submit(`/users/${id}/ban`, { duration: '1h' })
    const browser = await test.signedIn('viewer')
    expect((await browser.open('/audit')).path).toBe('/audit/auth')
    const page = await browser.open(`/audit/auth?action=users.ban&user=${id}`)
    expect(page.status).toBe(200)
    expect(plain(page.text)).toMatch(
      new RegExp(
        `^Audit Auth Payments Inventory Whole action, such as users\\.ban User ${id} Filter Action By Address Details Created ↓ operator\\.users\\.ban support-\\S+@example\\.com 127\\.0\\.0\\.1 Details { .* } TIME$`,
      ),
    )
  })

  it('200: says who revoked the keys of an app', async () => {
    const { appId } = await createMerchant(services[1], 'Nordhavn Coffee')
    const admin = await test.signedIn('admin')
    await admin.open(`/apps/${appId}/keys`)
    await admin.submit(`/apps/${appId}/keys`)
    const page = await (await test.signedIn('viewer')).open('/audit/payments?action=apps.revoke-keys')
    expect(page.status).toBe(200)
    expect(plain(page.text)).toMatch(
      /^Audit Auth Payments Inventory Whole action, such as payouts\.run Filter Action By Address Details Created ↓ operator\.apps\.revoke-keys admin-\S+@example\.com 127\.0\.0\.1 Details { .* } TIME$/,
    )
  })

  it('200: says that there are no changes while the audit log is empty', async () => {
    const page = await (await test.signedIn('viewer')).open('/audit/inventory')
    expect([page.status, page.text]).toEqual([200, 'Audit Auth Payments Inventory No changes yet.'])
  })

  it('404: shows no audit log of a service that is not set up', async () => {
    const other = await openTestConsole([services[0]])
    const browser = other.browser()
    for (const [name, value] of (await test.signedIn('viewer')).cookies) browser.cookies.set(name, value)
    const page = await browser.open('/audit/payments')
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
    await other.close()
  })
})
