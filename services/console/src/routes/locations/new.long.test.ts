import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLossyConsole } from '../../../test/lost-answers.ts'
import { openStockedConsole, type StockedConsole } from '../../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
let auth: StockedConsole['auth']
let inventory: StockedConsole['inventory']
beforeAll(async () => {
  ;({ test, auth, inventory, close } = await openStockedConsole())
})
afterAll(() => close())

describe('POST /locations/new', () => {
  it('503: offers a location again whose answer was lost, under the same key, so that it is made once', async () => {
    const lossy = await openLossyConsole(auth, inventory, await test.signedIn('admin'))
    const { browser } = lossy
    await browser.open('/locations/new')
    lossy.loseAnswers(true)
    const lost = await browser.submit('/locations/new', { code: 'ONCE', name: 'Once' })
    expect([lost.status, lost.text]).toEqual([503, expect.stringContaining('The service has not answered')])
    lossy.loseAnswers(false)
    const page = await browser.submit('/locations/new', { code: 'ONCE', name: 'Once' })
    expect([page.status, page.path, page.text.includes('ONCE')]).toEqual([200, '/locations', true])
    await lossy.close()
  })

  it('403: shows no form to the role support', async () => {
    const page = await (await test.signedIn('support')).open('/locations/new')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })
})
