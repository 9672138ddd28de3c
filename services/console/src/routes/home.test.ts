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
  it('303: leads to the sign-in without a session, a part of a page by the header of htmx', async () => {
    const page = await test.app.inject({ url: '/' })
    expect([page.statusCode, page.headers.location]).toEqual([303, '/sign-in'])
    const part = await test.app.inject({ url: '/', headers: { 'hx-request': 'true' } })
    expect([part.statusCode, part.headers['hx-redirect']]).toEqual([204, '/sign-in'])
  })

  it('503: says that auth does not answer while it is away, and works again when it is back', async () => {
    const silent = await startService('auth')
    const other = await openTestConsole([silent])
    const browser = await other.signedIn('viewer')
    await silent.halt()
    const page = await browser.open('/')
    expect([page.status, page.text, page.headers['retry-after']]).toEqual([
      503,
      'Trestle console 503 No answer Auth does not answer. Its pages work again as soon as it does. Go to the overview',
      '1',
    ])
    await other.close()
    await silent.stop()
  })
})

describe('an unknown page', () => {
  it('404: says so, to somebody who is signed in and to somebody who is not', async () => {
    const browser = test.browser()
    const page = await browser.open('/nothing')
    expect([page.status, page.text]).toEqual([
      404,
      'Trestle console 404 Not found There is no such page. Go to the overview',
    ])
  })
})
