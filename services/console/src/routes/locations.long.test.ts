import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callInventory, createLocation } from '../../test/inventory.ts'
import { openLossyConsole } from '../../test/lost-answers.ts'
import { openStockedConsole, type StockedConsole } from '../../test/stocked-console.ts'

let close: StockedConsole['close']
let test: StockedConsole['test']
let auth: StockedConsole['auth']
let inventory: StockedConsole['inventory']
beforeAll(async () => {
  ;({ test, auth, inventory, close } = await openStockedConsole())
})
afterAll(() => close())

const problemOf = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1]

/** The whole answer of inventory with the location HALL. */
const locationBody = (id: number, name: string) => ({
  statusCode: 200,
  data: { id, code: 'HALL', name, active: false },
})

describe('POST /locations/:locationId', () => {
  it('422: does not overwrite a location that was changed meanwhile', async () => {
    const id = await createLocation(inventory, 'MOVED')
    const browser = await test.signedIn('admin')
    await browser.open(`/locations/${id}`)
    await callInventory(inventory, `/locations/${id}`, { name: 'Other' }, 'PATCH')
    const page = await browser.submit(`/locations/${id}`, { code: 'MOVED', name: 'Mine', active: 'yes' })
    expect([page.status, problemOf(page.html)]).toEqual([422, 'The location was changed in the meantime.'])
  })

  it('200: keeps the line breaks and blanks of a name that is left as it is, and saves another one', async () => {
    const id = await createLocation(inventory, 'HALL', ' Hall\nA ')
    const nameAfter = async (name: string): Promise<readonly unknown[]> => {
      const browser = await test.signedIn('admin')
      await browser.open(`/locations/${id}`)
      const page = await browser.submit(`/locations/${id}`, { code: 'HALL', name })
      return [page.status, await callInventory(inventory, `/locations/${id}`)]
    }
    expect(await nameAfter(' HallA ')).toEqual([200, locationBody(id, ' Hall\nA ')])
    expect(await nameAfter('Hall A')).toEqual([200, locationBody(id, 'Hall A')])
  })

  it('422: refuses an empty name, also in a form without the name that it began with', async () => {
    const id = await createLocation(inventory, 'NAMED')
    const browser = await test.signedIn('admin')
    await browser.open(`/locations/${id}`)
    const page = await browser.submit(`/locations/${id}`, { code: 'NAMED', name: '', shown: '' })
    expect([page.status, problemOf(page.html)]).toEqual([422, expect.stringMatching(/name/i)])
  })

  it('503: says that the answer to a change was lost, and a retry finds the version that it made', async () => {
    const id = await createLocation(inventory, 'LOST')
    const lossy = await openLossyConsole(auth, inventory, await test.signedIn('admin'))
    const { browser } = lossy
    await browser.open(`/locations/${id}`)
    lossy.loseAnswers(true)
    const lost = await browser.submit(`/locations/${id}`, { code: 'LOST', name: 'Found', active: 'yes' })
    expect([lost.status, lost.text]).toEqual([503, expect.stringContaining('The service has not answered')])
    lossy.loseAnswers(false)
    const page = await browser.submit(`/locations/${id}`, { code: 'LOST', name: 'Found', active: 'yes' })
    expect([page.status, problemOf(page.html)]).toEqual([422, 'The location was changed in the meantime.'])
    expect((await browser.open('/locations')).text).toContain('Found')
    await lossy.close()
  })

  it.each(['*', '☃', '"1"\r\nx: y', '1', ''])('400: refuses %j as a version', async (etag) => {
    const id = await createLocation(inventory, `V-${crypto.randomUUID()}`)
    const browser = await test.signedIn('admin')
    await browser.open(`/locations/${id}`)
    const page = await browser.submit(`/locations/${id}`, { code: 'OVER', name: 'Over', active: 'yes', etag })
    expect([page.status, page.text]).toEqual([
      400,
      '400 Not valid A value of the form or the address is not valid. Go to the overview',
    ])
  })
})
