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

describe('GET /: the first page', () => {
  it('303: leads to the sign-in without a session, for a part of a page by a header of htmx', async () => {
    const page = await test.app.inject({ url: '/' })
    expect([page.statusCode, page.headers.location]).toEqual([303, '/sign-in'])
    const part = await test.app.inject({ url: '/', headers: { 'hx-request': 'true' } })
    expect([part.statusCode, part.headers['hx-redirect']]).toEqual([204, '/sign-in'])
  })

  it('503: says that auth does not answer while it is unavailable, and works again when it is back', async () => {
    const away = await startService('auth')
    const other = await openTestConsole([away])
    const browser = await other.signedIn('viewer')
    await away.halt()
    const page = await browser.open('/')
    expect([page.status, page.text, page.headers['retry-after']]).toEqual([
      503,
      'Trestle console 503 Not available Auth does not answer. Its pages work again as soon as it does. Go to the overview',
      '1',
    ])
    await other.close()
    await away.stop()
  })
})

/** Replaces the days and the numbers of sign-ups and sign-ins in the text of the overview. */
const withoutDays = (text: string) =>
  text
    .replaceAll(/\d{4}-\d\d-\d\d(: 0)?|\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept|Oct|Nov|Dec)\b/g, 'DAY')
    .replaceAll(/(DAY )+/g, 'DAYS ')
    // Other tests of this file sign in too, in any order.
    .replaceAll(/(Sign-ups|Sign-ins) \d+ DAYS DAY: \d+ DAYS/g, '$1 N DAYS')

const USERS =
  'Users Users 1 1 confirmed Banned 0 Messages that wait 0 Messages that failed 0 Sign-ups N DAYS Sign-ins N DAYS'
const INVENTORY = 'Inventory Low stock 0 less than 10 available Open reservations 0 Products 0 Locations 1'

describe('GET /: the overview', () => {
  it('200: shows what each service tells, and leads to what runs low', async () => {
    const services = await Promise.all([startService('payments'), startService('inventory')])
    const other = await openTestConsole([auth, ...services])
    const page = await (await other.signedIn('viewer')).open('/')
    const known = withoutDays(page.text)
    expect(page.status).toBe(200)
    expect(known).toBe(
      `Overview Services auth database ok mail: no server is set queue ok payments database ok queue ok mail: no mail server is set rates ok inventory database ok queue ok Payments Show test Open disputes 0 Balances of merchants none Exceptions 0 Failed deliveries 0 Dead-letter jobs 0 Volume 0 DAYS Declines 0 DAYS ${USERS} ${INVENTORY}`,
    )
    expect([...page.html.matchAll(/<a class="stat(?: none)?" href="([^"]+)">/g)].map(([, path]) => path)).toEqual([
      ...['/disputes?status=open', '/merchants?test=false', '/exceptions', '/deliveries?status=failed', '/jobs'],
      ...['/users', '/messages?status=waiting', '/messages?status=failed'],
      ...['/stock/low', '/reservations?status=active', '/products', '/locations'],
    ])
    await other.close()
    for (const service of services) await service.stop()
  })

  it('200: says which service does not answer, and shows the others', async () => {
    const inventory = await startService('inventory')
    const other = await openTestConsole([auth, { name: 'payments', url: 'http://127.0.0.1:1' }, inventory])
    const page = await (await other.signedIn('viewer')).open('/')
    expect([page.status, withoutDays(page.text)]).toEqual([
      200,
      `Overview Services auth database ok mail: no server is set queue ok payments does not answer inventory database ok queue ok Payments Payments does not answer. Its numbers are back as soon as it does. ${USERS} ${INVENTORY}`,
    ])
    await other.close()
    await inventory.stop()
  })
})

describe('an unknown page', () => {
  it('404: shows an error page, with and without a session', async () => {
    const browser = test.browser()
    const page = await browser.open('/nothing')
    expect([page.status, page.text]).toEqual([
      404,
      'Trestle console 404 Not found There is no such page. Go to the overview',
    ])
  })
})
