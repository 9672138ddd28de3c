import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hiddenFields, signIn } from '../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createUser, type RunningService, startService } from '../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole(services)
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

describe('a form of an operator', () => {
  it('303: changes nothing when their role is taken while the form comes, though the access token is good', async () => {
    const [auth, inventory] = services
    const browser = test.browser()
    const { email } = await createUser(auth, 'fired@example.com', 'admin')
    await signIn(browser, email)
    const { html } = await browser.open('/locations/new')
    const fields = { ...hiddenFields(html, '/locations/new'), code: 'LATE', name: 'Late' }
    const text = new URLSearchParams(fields).toString()
    async function* pieces() {
      yield text.slice(0, 10)
      await auth.command('users', 'assign-role', email, 'none')
      yield text.slice(10)
    }
    const answer = await test.app.inject({
      method: 'POST',
      url: '/locations/new',
      cookies: Object.fromEntries(browser.cookies),
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: test.origin },
      payload: Readable.from(pieces()),
    })
    const made = await inventory.query(`SELECT FROM inventory.locations WHERE code = 'LATE'`)
    expect([answer.statusCode, answer.headers.location, made]).toEqual([303, '/sign-in?ended=1', []])
  })
})
