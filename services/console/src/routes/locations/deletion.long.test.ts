import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStockedConsole, type StockedConsole } from '../../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
beforeAll(async () => {
  ;({ test, close } = await openStockedConsole())
})
afterAll(() => close())

describe('POST /locations/:locationId/deletion', () => {
  it('303: makes, changes and deletes a location', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/locations/new')
    const made = await browser.submit('/locations/new', { code: 'VAN', name: 'The van', active: 'yes' })
    const id = /href="\/stock\?location=(\d+)">VAN</.exec(made.html)?.[1]
    await browser.open(`/locations/${id}`)
    const changed = await browser.submit(`/locations/${id}`, { code: 'VAN-2', name: 'The other van' })
    expect(changed.text).toContain('VAN-2 The other van takes no stock Change')
    await browser.open(`/locations/${id}/deletion`)
    const deleted = await browser.submit(`/locations/${id}/deletion`)
    expect([deleted.firstStatus, deleted.path, deleted.text.includes('VAN-2')]).toEqual([303, '/locations', false])
  })
})
