import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStockedConsole, type StockedConsole } from '../../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
beforeAll(async () => {
  ;({ test, close } = await openStockedConsole())
})
afterAll(() => close())

describe('POST /locations/new', () => {
  it('403: shows no form to a role that may not', async () => {
    expect((await (await test.signedIn('support')).open('/locations/new')).status).toBe(403)
  })
})
