import { equal } from 'node:assert/strict'
import { bankJourneys, LANGUAGES } from './bank-journeys.ts'
import { type Journey, say } from './journey.ts'
import { plainJourneys } from './plain-journeys.ts'
import { enterCard, expectReceipt, fillCard, linkOf, UNASKED } from './steps.ts'

/** The journeys of customers whose browser runs the script of the page, and all others. */
export const journeys: readonly Journey[] = [
  ...bankJourneys,
  ...plainJourneys,
  {
    name: 'enters an amount, corrects it, and goes back to change it',
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage, { value: '', currency: 'USD' }))
      await visitor.expectAccessible()
      await page.locator('#amount:focus').waitFor()
      await page.keyboard.type('0')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').filter({ hasText: '25.00' }).waitFor()
      await visitor.expectAccessible()
      await page.keyboard.press('Control+A')
      await page.keyboard.type('12,5')
      await page.keyboard.press('Enter')
      await page.getByText('US$12.50').first().waitFor()
      await page.goBack()
      await page.locator('#amount').fill('7')
      await page.keyboard.press('Enter')
      await page.getByText('US$7.00').first().waitFor()
      await enterCard(page, { number: UNASKED })
      await expectReceipt(visitor, { amount: 700, currency: 'USD' })
    },
  },
  {
    name: 'has a link with a wrong key, for real money, or for tests',
    go: async (visitor) => {
      const { page, stage } = visitor
      for (const [changes, status, text] of [
        [{ key: '00000000-0000-4000-8000-000000000000' }, 404, 'keyUnknown'],
        [{ test: '' }, 400, 'testOnly'],
        [{ key: stage.keys.live }, 400, 'liveOnly'],
        [{ key: stage.keys.live, test: '' }, 400, 'unavailable'],
      ] as const) {
        const response = await page.goto(linkOf(stage, changes))
        equal(response?.status(), status)
        await page.getByText(say(text)).waitFor()
        await visitor.expectAccessible()
      }
    },
  },
  {
    name: 'prints the receipt by keyboard',
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage, { text: 'Two bags' }))
      await enterCard(page, { number: UNASKED })
      await expectReceipt(visitor)
      await page.getByText('Two bags').waitFor()
      await page.evaluate('window.print = () => { document.title = "printed" }')
      await page.getByRole('button', { name: say('print') }).press('Enter')
      equal(await page.title(), 'printed')
    },
  },
  {
    name: 'is led back to the shop',
    go: async ({ page, stage }) => {
      await page.goto(linkOf(stage, { redirect: `${stage.shopUrl}?order=a%20b#top` }))
      await enterCard(page, { number: UNASKED })
      // In test mode the page names the host, and waits.
      await page.getByText(new URL(stage.shopUrl).host).waitFor()
      await page.getByRole('link').click()
      await page.waitForURL(`${stage.shopUrl}?**`)
      equal(page.url(), `${stage.shopUrl}?order=a%20b&transactionId=${(await stage.transactions())[0]?.id}#top`)
    },
  },
  {
    name: 'reads the page before the shop, and goes on by keyboard',
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage, { redirect: stage.shopUrl }))
      await enterCard(page, { number: UNASKED })
      await page.getByRole('link').waitFor()
      await visitor.expectAccessible()
      await page.getByRole('link').press('Enter')
      await page.waitForURL(`${stage.shopUrl}?**`)
    },
  },
  {
    name: 'clicks twice, reloads, goes back, and pays once',
    go: async (visitor) => {
      const { page, stage } = visitor
      const before = (await stage.transactions()).length
      await page.goto(linkOf(stage))
      await fillCard(page, { number: UNASKED })
      await page.getByRole('button').first().dblclick()
      const { id } = await expectReceipt(visitor)
      await page.reload()
      equal((await expectReceipt(visitor)).id, id)
      await page.goBack()
      await page.locator('#number').waitFor()
      for (const field of ['#number', '#code']) equal(await page.locator(field).inputValue(), '')
      equal((await stage.transactions()).length, before + 1)
    },
  },
  {
    name: 'types invalid cards, and sees messages',
    go: async (visitor) => {
      const { page, stage } = visitor
      const before = (await stage.transactions()).length
      await page.goto(linkOf(stage, { recurring: 'y' }))
      await enterCard(page, { number: '12', expiry: '0120', code: '1' })
      await page
        .getByRole('alert')
        .filter({ hasText: say('fieldsInvalid') })
        .waitFor()
      for (const text of ['numberInvalid', 'expiryPast', 'codeInvalid']) await page.getByText(say(text)).waitFor()
      await page.locator('#number:focus').waitFor()
      await visitor.expectAccessible()
      equal((await stage.transactions()).length, before)
    },
  },
  {
    name: 'reads the whole page on a narrow screen',
    browser: { viewport: { width: 320, height: 640 } },
    go: async (visitor) => {
      const { page, stage } = visitor
      for (const language of LANGUAGES) {
        await page.goto(
          linkOf(stage, { value: '9999999999.99', locale: language, text: 'W'.repeat(255), recurring: 'y' }),
        )
        const width = await page.locator('html').evaluate((html) => html.scrollWidth)
        equal(width <= 320, true, `${language} is ${width} wide`)
      }
    },
  },
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
    name: 'gets no answer to its payment, tries again, and pays once',
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
      // The customer cannot pay anything else until the outcome of this payment is known.
      equal(await page.locator('#number').inputValue(), UNASKED)
      equal(await page.locator('#number').isEditable(), false)
      await visitor.expectAccessible()
      await page.keyboard.press('Enter')
      await expectReceipt(visitor)
      equal((await stage.transactions()).length, before + 1)
    },
  },
]

/** The page repeats its request this often before it asks the customer. */
const ANSWERS_LOST = 3

const UNAVAILABLE = {
  status: 503,
  contentType: 'application/json',
  body: '{"code":"SERVICE_UNAVAILABLE","message":"away"}\n',
}

const OF_A_PROXY = { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }
