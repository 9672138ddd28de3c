import { type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createMerchant } from '../../test/merchants.ts'
import { type RunningService, startService } from '../../test/services.ts'

const ANSWER = '<img src=x onerror=alert(1)>'
const WEBHOOKS = { PAYMENTS_WEBHOOK_ALLOW_HTTP: 'true', PAYMENTS_WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' }
let sink: StubProvider
let services: readonly [RunningService, RunningService]
let test: TestConsole
let webhookId: string
let merchantId: string
beforeAll(async () => {
  sink = await startStubProvider(() => ({ status: 200, body: ANSWER }))
  services = await Promise.all([startService('auth'), startService('payments', WEBHOOKS)])
  test = await openTestConsole(services)
  const shop = await createMerchant(services[1], 'Nordhavn Coffee')
  merchantId = shop.merchantId
  const send = async (method: 'POST' | 'PUT', path: string, body: object) => {
    const authorization = `Basic ${Buffer.from(`:${shop.appKey}`).toString('base64')}`
    const headers = { authorization, 'content-type': 'application/json' }
    return (await fetch(services[1].url + path, { method, headers, body: JSON.stringify(body) })).text()
  }
  const wanted = { url: `${sink.url}/events`, events: ['merchant.updated'] }
  const made = await send('POST', `/merchants/${merchantId}/webhooks`, wanted)
  webhookId = z.object({ webhook: z.looseObject({ id: z.string() }) }).parse(JSON.parse(made)).webhook.id
  await send('PUT', `/merchants/${merchantId}`, { name: 'Coffee' })
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
  await sink.close()
})

const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]
/** Waits for the given number of deliveries, and returns their paths, newest first. */
const pathsOf = async (number: number) => {
  const browser = await test.signedIn('support')
  const list = async () => {
    const { html } = await browser.open(`/deliveries?webhook=${webhookId}&status=delivered`)
    return [...html.matchAll(/class="main-link figure" href="(\/deliveries\/[^"]+)"/g)].map(([, path = '']) => path)
  }
  await vi.waitFor(async () => expect(await list()).toHaveLength(number), { timeout: 60_000, interval: 200 })
  return { browser, paths: await list() }
}

describe('GET /deliveries', () => {
  it('200: lists the deliveries of a webhook with their states, and says how to take the filter away', async () => {
    const { browser } = await pathsOf(1)
    const { status, text, html } = await browser.open(`/deliveries?webhook=${webhookId}`)
    expect(status).toBe(200)
    expect(text.replaceAll(/\b[0-9a-f]{24}\b/g, 'ID')).toMatch(
      /^Deliveries Id of a merchant State All states .* Webhook ID Filter Event State Last error Attempts Merchant Created ↓ merchant\.updated delivered 1 ID .* UTC$/,
    )
    expect(html).toContain('<a href="/deliveries" aria-label="Take the filter away: Webhook')
  })

  it('200: says when no delivery is in the state', async () => {
    const page = await (await test.signedIn('viewer')).open('/deliveries?status=failed')
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('No delivery matches. Clear the filters')])
  })
})

describe('GET /deliveries/:deliveryId', () => {
  it('200: shows attempts, the event and what the webhook has answered, as text', async () => {
    const { browser, paths } = await pathsOf(1)
    const page = await browser.open(paths[0] ?? '')
    expect(page.status).toBe(200)
    expect(page.text).toMatch(/^Deliveries merchant\.updated delivered .* Send again… Attempts 200 /)
    expect(page.html).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(page.html).not.toContain(ANSWER)
  })
})

describe('POST /deliveries/:deliveryId/:change', () => {
  it('303: sends the event again after a question that names the address, and shows the new delivery until it has an outcome', async () => {
    const { browser, paths } = await pathsOf(1)
    const path = `${paths[0]}/replay`
    expect((await browser.open(path)).text).toBe(
      `Send merchant.updated again The same event goes to ${sink.url}/events once more, as a delivery of its own. If the webhook was disabled, it is enabled again. Send again Cancel`,
    )
    const page = await browser.submit(path)
    const { paths: all } = await pathsOf(2)
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([
      303,
      all.find((each) => !paths.includes(each)),
      'The event is on its way again',
    ])
    expect((await browser.open(page.path)).html).not.toContain('hx-trigger')
  })
})
