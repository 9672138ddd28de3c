import { equal } from 'node:assert/strict'
import { type Journey, say } from './journey.ts'
import { enterCard, expectReceipt, linkOf, UNASKED } from './steps.ts'

/** Journeys on which answers of the checkout are lost. */
export const connectionJourneys: readonly Journey[] = [
  {
    name: 'loses the connection, and pays once it is back',
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage))
      let lost = 0
      await page.route('**/payments', (route) => (lost++ < 2 ? route.fulfill(UNAVAILABLE) : route.continue()))
      await enterCard(page, { number: UNASKED })
      await expectReceipt(visitor)
      equal(lost > 2, true)
    },
  },
  {
    name: 'never hears that it has paid, tries again, and pays once',
    go: async (visitor) => {
      const { page, stage } = visitor
      const before = (await stage.transactions()).length
      await page.goto(linkOf(stage))
      const lost: number[] = []
      await page.route('**/payments', async (route) => {
        const response = await route.fetch()
        if (response.status() !== 201 || lost.length === ANSWERS_LOST) return route.fulfill({ response })
        lost.push(response.status())
        return lost.length === 1 ? route.fulfill(OF_A_PROXY) : route.abort()
      })
      await enterCard(page, { number: UNASKED })
      await page
        .getByRole('alert')
        .filter({ hasText: say('connectionLost') })
        .waitFor()
      equal((await stage.transactions()).length, before + 1)
      // Nothing else can be paid before it is known what has become of this.
      equal(await page.locator('#number').inputValue(), UNASKED)
      equal(await page.locator('#number').isEditable(), false)
      await visitor.expectAccessible()
      await page.keyboard.press('Enter')
      await expectReceipt(visitor)
      equal((await stage.transactions()).length, before + 1)
    },
  },
]

/** As many as the page asks for before it asks its customer. */
const ANSWERS_LOST = 3

const UNAVAILABLE = {
  status: 503,
  contentType: 'application/json',
  body: '{"code":"SERVICE_UNAVAILABLE","message":"away"}\n',
}

const OF_A_PROXY = { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }
