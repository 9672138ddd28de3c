import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type RunningService, startService } from '../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments', { PAYMENTS_REGISTRATION: 'open' })])
  test = await openTestConsole(services)
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]
const register = async () =>
  (
    await fetch(`${services[1].url}/apps`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'A shop' }),
    })
  ).status

describe('POST /registration/:change', () => {
  it('303: closes the registration of apps after a question, and opens it again', async () => {
    const browser = await test.signedIn('admin')
    expect((await browser.open('/registration/close')).text).toBe(
      'Close registration New apps can no longer be registered. Registered apps keep working. You can open it again. Close registration Cancel',
    )
    const closed = await browser.submit('/registration/close')
    expect([
      closed.firstStatus,
      closed.path,
      toastOf(closed.html),
      closed.text.includes('Closed by an operator'),
    ]).toEqual([303, '/jobs', 'The registration of apps is closed', true])
    expect(await register()).toBe(403)
    await browser.open('/registration/open')
    const opened = await browser.submit('/registration/open')
    expect([opened.firstStatus, opened.path, opened.text.includes('Everyone may register apps.')]).toEqual([
      303,
      '/jobs',
      true,
    ])
    expect(await register()).toBe(201)
  })

  it('403: shows no form to the role support', async () => {
    const page = await (await test.signedIn('support')).open('/registration/close')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })
})
