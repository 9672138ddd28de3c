import { equal } from 'node:assert/strict'
import { bankScenarios, LANGUAGES } from './bank-scenarios.ts'
import { english } from './fixture.ts'
import type { BrowserSession, Scenario } from './session.ts'
import { enterCard, expectReceipt, expectRefusal, fillCard, linkOf, UNASKED } from './steps.ts'

const plainScenarios: readonly Scenario[] = [
  {
    name: 'pays without script, through the page of the bank',
    browser: { javaScriptEnabled: false },
    run: (session) => payPlainly(session, async () => {}),
  },
  {
    name: 'can do so with assistive technology',
    run: async (session) => {
      await silenceScripts(session)
      await payPlainly(session, session.expectAccessible)
    },
  },
  {
    name: 'answers the bank too late',
    run: async (session) => {
      const { page, fixture } = session
      await silenceScripts(session)
      await page.goto(linkOf(fixture))
      await enterCard(page)
      const approve = page.getByRole('button', { name: 'Approve' })
      await approve.waitFor()
      await fixture.letChallengesAge()
      await approve.press('Enter')
      await page.getByText('It is too late').waitFor()
      await session.expectAccessible()
      await page.getByRole('link').press('Enter')
      await expectRefusal(session, english('refusedTds'))
    },
  },
  {
    name: 'opens an unknown address: of a payment, of a receipt, of a challenge',
    run: async (session) => {
      const { page, fixture } = session
      for (const [address, status, text] of [
        [linkOf(fixture).replace('/pos?', '/pos/pay?'), 400, english('tooLong')],
        [`${fixture.url}/pos/receipt?receipt=none`, 404, english('receiptUnknown')],
        [`${fixture.url}/acs/challenge?state=none`, 400, 'This payment is not known here'],
      ] as const) {
        const response = await page.goto(address)
        equal(response?.status(), status)
        await page.getByText(text).waitFor()
        await session.expectAccessible()
      }
    },
  },
  {
    name: 'goes back after a refusal, without script, and pays with another card',
    browser: { javaScriptEnabled: false },
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture))
      await enterCard(page, { number: '9000 0000 0000 0000' })
      await expectRefusal(session, english('refusedNumber'))
      await page.goBack()
      await page.getByText(english('refusedNumber')).waitFor({ state: 'detached' })
      // Without TLS, the browser has kept the values of the form.
      await page.locator('#number').fill('')
      await enterCard(page, { number: UNASKED })
      await expectReceipt(session)
    },
  },
  {
    name: 'enters an amount and is led back to the shop, without script',
    browser: { javaScriptEnabled: false },
    run: async ({ page, fixture }) => {
      await page.goto(linkOf(fixture, { value: '', redirect: fixture.shopUrl }))
      await page.locator('#amount').fill('3')
      await page.keyboard.press('Enter')
      await enterCard(page, { number: UNASKED })
      await page.getByRole('link').click()
      await page.waitForURL(`${fixture.shopUrl}?transactionId=**`)
      equal((await fixture.transactions())[0]?.amount, 300)
    },
  },
]

/** The scenarios with script, and all others. */
export const scenarios: readonly Scenario[] = [
  ...bankScenarios,
  ...plainScenarios,
  {
    name: 'enters an amount, corrects it, and goes back to change it',
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture, { value: '', currency: 'USD' }))
      await session.expectAccessible()
      await page.locator('#amount:focus').waitFor()
      await page.keyboard.type('0')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').filter({ hasText: '25.00' }).waitFor()
      await session.expectAccessible()
      await page.keyboard.press('Control+A')
      await page.keyboard.type('12,5')
      await page.keyboard.press('Enter')
      await page.getByText('US$12.50').first().waitFor()
      await page.goBack()
      await page.locator('#amount').fill('7')
      await page.keyboard.press('Enter')
      await page.getByText('US$7.00').first().waitFor()
      await enterCard(page, { number: UNASKED })
      await expectReceipt(session, { amount: 700, currency: 'USD' })
    },
  },
  {
    name: 'has a link with a wrong key, for real money, or for tests',
    run: async (session) => {
      const { page, fixture } = session
      for (const [changes, status, text] of [
        [{ key: '00000000-0000-4000-8000-000000000000' }, 404, 'keyUnknown'],
        [{ test: '' }, 400, 'testOnly'],
        [{ key: fixture.keys.live }, 400, 'liveOnly'],
        [{ key: fixture.keys.live, test: '' }, 400, 'unavailable'],
      ] as const) {
        const response = await page.goto(linkOf(fixture, changes))
        equal(response?.status(), status)
        await page.getByText(english(text)).waitFor()
        await session.expectAccessible()
      }
    },
  },
  {
    name: 'prints the receipt by keyboard',
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture, { text: 'Two bags' }))
      await enterCard(page, { number: UNASKED })
      await expectReceipt(session)
      await page.getByText('Two bags').waitFor()
      await page.evaluate('window.print = () => { document.title = "printed" }')
      await page.getByRole('button', { name: english('print') }).press('Enter')
      equal(await page.title(), 'printed')
    },
  },
  {
    name: 'is led back to the shop',
    run: async ({ page, fixture }) => {
      await page.goto(linkOf(fixture, { redirect: `${fixture.shopUrl}?order=a%20b#top` }))
      await enterCard(page, { number: UNASKED })
      // In test mode, the page shows the host and waits.
      await page.getByText(new URL(fixture.shopUrl).host).waitFor()
      await page.getByRole('link').click()
      await page.waitForURL(`${fixture.shopUrl}?**`)
      equal(page.url(), `${fixture.shopUrl}?order=a%20b&transactionId=${(await fixture.transactions())[0]?.id}#top`)
    },
  },
  {
    name: 'reads the page before the shop, and goes on by keyboard',
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture, { redirect: fixture.shopUrl }))
      await enterCard(page, { number: UNASKED })
      await page.getByRole('link').waitFor()
      await session.expectAccessible()
      await page.getByRole('link').press('Enter')
      await page.waitForURL(`${fixture.shopUrl}?**`)
    },
  },
  {
    name: 'clicks twice, reloads, goes back, and pays once',
    run: async (session) => {
      const { page, fixture } = session
      const before = (await fixture.transactions()).length
      await page.goto(linkOf(fixture))
      await fillCard(page, { number: UNASKED })
      await page.getByRole('button').first().dblclick()
      const { id } = await expectReceipt(session)
      await page.reload()
      equal((await expectReceipt(session)).id, id)
      await page.goBack()
      await page.locator('#number').waitFor()
      for (const field of ['#number', '#code']) equal(await page.locator(field).inputValue(), '')
      equal((await fixture.transactions()).length, before + 1)
    },
  },
  {
    name: 'types invalid cards, and sees messages',
    run: async (session) => {
      const { page, fixture } = session
      const before = (await fixture.transactions()).length
      await page.goto(linkOf(fixture, { recurring: 'y' }))
      await enterCard(page, { number: '12', expiry: '0120', code: '1' })
      await page
        .getByRole('alert')
        .filter({ hasText: english('fieldsInvalid') })
        .waitFor()
      for (const text of ['numberInvalid', 'expiryPast', 'codeInvalid']) await page.getByText(english(text)).waitFor()
      await page.locator('#number:focus').waitFor()
      await session.expectAccessible()
      equal((await fixture.transactions()).length, before)
    },
  },
  {
    name: 'reads the whole page on a narrow screen',
    browser: { viewport: { width: 320, height: 640 } },
    run: async (session) => {
      const { page, fixture } = session
      for (const language of LANGUAGES) {
        await page.goto(
          linkOf(fixture, { value: '9999999999.99', locale: language, text: 'W'.repeat(255), recurring: 'y' }),
        )
        const width = await page.locator('html').evaluate((html) => html.scrollWidth)
        equal(width <= 320, true, `${language} is ${width} wide`)
      }
    },
  },
  {
    name: 'loses the connection, and pays once it is back',
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture))
      let lost = 0
      await page.route('**/payments', (route) => (lost++ < 2 ? route.fulfill(UNAVAILABLE) : route.continue()))
      await enterCard(page, { number: UNASKED })
      await expectReceipt(session)
      equal(lost > 2, true)
    },
  },
  {
    name: 'gets no answer to its payment, tries again, and pays once',
    run: async (session) => {
      const { page, fixture } = session
      const before = (await fixture.transactions()).length
      await page.goto(linkOf(fixture))
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
        .filter({ hasText: english('connectionLost') })
        .waitFor()
      equal((await fixture.transactions()).length, before + 1)
      // The customer can pay nothing else until the outcome of this payment is known.
      equal(await page.locator('#number').inputValue(), UNASKED)
      equal(await page.locator('#number').isEditable(), false)
      await session.expectAccessible()
      await page.keyboard.press('Enter')
      await expectReceipt(session)
      equal((await fixture.transactions()).length, before + 1)
    },
  },
]

/** How often the page repeats its request before it asks the customer. */
const ANSWERS_LOST = 3

const UNAVAILABLE = {
  status: 503,
  contentType: 'application/json',
  body: '{"code":"SERVICE_UNAVAILABLE","message":"away"}\n',
}

const OF_A_PROXY = { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }

/** Loads scripts with empty content. Scripts stay enabled for axe-core. */
async function silenceScripts({ page }: BrowserSession): Promise<void> {
  await page.route('**/*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' }))
}

/** Pays only by redirects: a decline, a refusal, and a third card that pays. */
async function payPlainly(session: BrowserSession, look: () => Promise<void>): Promise<void> {
  const { page, fixture } = session
  await page.goto(linkOf(fixture, { reference: 'plain' }))
  await look()
  await enterCard(page)
  await page.getByRole('button', { name: 'Decline' }).click()
  await expectRefusal(session, english('refusedTds'))
  await look()
  await enterCard(page, { number: '1000 0000 0000 0007' })
  await page.getByRole('button', { name: 'Approve' }).press('Enter')
  await expectRefusal(session, english('refusedIssuer'))
  await enterCard(page)
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await look()
  await page.getByRole('button', { name: 'Approve' }).press('Enter')
  const { id } = await expectReceipt(session, { tds: 'full', reference: 'plain' })
  await look()
  await page.reload()
  equal((await expectReceipt(session)).id, id)
}
