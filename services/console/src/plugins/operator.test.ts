import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
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

describe('pages of an operator', () => {
  it('200: are made four at a time, while another operator waits for none of them', async () => {
    const held: ServerResponse[] = []
    const server = createServer((_request, response) => held.push(response)).listen(0, '127.0.0.1')
    await vi.waitFor(() => expect(server.listening).toBe(true))
    const { port } = server.address() as AddressInfo
    const slow = await openTestConsole([services[0], { name: 'inventory', url: `http://127.0.0.1:${port}` }])
    const [busy, other] = [await slow.signedIn('viewer'), await slow.signedIn('support')]
    const pages = Array.from({ length: 12 }, () => busy.open('/locations'))
    await vi.waitFor(() => expect(held).toHaveLength(4))
    const page = other.open('/locations')
    await vi.waitFor(() => expect(held).toHaveLength(5))
    const answer = (response: ServerResponse) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}')
    held.splice(4).map(answer)
    expect((await page).status).toBe(200)
    expect(held).toHaveLength(4)
    server.removeAllListeners('request').on('request', (_request, response) => answer(response))
    held.map(answer)
    expect((await Promise.all(pages)).map(({ status }) => status)).toEqual(Array(12).fill(200))
    await slow.close()
    server.close()
  })
})
