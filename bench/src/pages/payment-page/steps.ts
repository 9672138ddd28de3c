import { deepEqual, equal } from 'node:assert/strict'
import type { FrameLocator, Locator, Page } from 'playwright-core'
import type { Fixture, Transaction } from './fixture.ts'
import type { BrowserSession } from './session.ts'

/** A valid card whose bank asks the customer. */
const CARD = { number: '1000 0000 0000 0000', expiry: '08/66', code: '111' }
/** A valid card whose bank does not ask the customer. */
export const UNASKED = '1000 0000 0001 0000'

const TABS_MAX = 6

/** Returns the address of a link to the test merchant, with changed parameters. */
export function linkOf({ url, keys }: Fixture, parameters: Readonly<Record<string, string>> = {}): string {
  return `${url}/pos?${new URLSearchParams({ key: keys.test, test: '1', value: '10', ...parameters })}`
}

/** Types a card like a person. The first field has the focus, and Tab moves to the next. */
export async function fillCard(page: Page, changes: Partial<typeof CARD> = {}): Promise<void> {
  const { number, expiry, code } = { ...CARD, ...changes }
  await page.locator('#number:focus').waitFor()
  await page.keyboard.type(number)
  await page.keyboard.press('Tab')
  await replaceFocused(page, expiry)
  await page.keyboard.press('Tab')
  await page.keyboard.type(code)
}

export async function enterCard(page: Page, changes: Partial<typeof CARD> = {}): Promise<void> {
  await fillCard(page, changes)
  await page.keyboard.press('Enter')
}

/** Replaces the text of the focused field. Tab has selected it. */
async function replaceFocused(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+A')
  await page.keyboard.type(text)
}

export async function findBankFrame(page: Page): Promise<FrameLocator> {
  const frame = page.frameLocator('#approval-frame iframe:not([hidden])')
  await frame.locator('button[value="approve"]').waitFor()
  return frame
}

/**
 * Answers the bank in the dialog by keyboard. Tab moves into the frame and between the buttons. `answer` is the text of a button
 * in the page's language.
 * @throws Error if Tab does not reach the button
 */
export async function answerByKeyboard(page: Page, answer: string): Promise<void> {
  await pressByKeyboard(page, (await findBankFrame(page)).getByRole('button', { name: answer }))
}

/** Cancels in the dialog by keyboard. @throws Error if Tab does not reach the button */
export async function cancelByKeyboard(page: Page, name: string): Promise<void> {
  await findBankFrame(page)
  await pressByKeyboard(page, page.getByRole('button', { name }))
}

async function pressByKeyboard(page: Page, button: Locator): Promise<void> {
  for (let tabs = 0; tabs < TABS_MAX; tabs++) {
    await page.keyboard.press('Tab')
    if (await button.evaluate((element) => element.matches(':focus'))) return page.keyboard.press('Enter')
  }
  throw new Error(`Tab does not lead to ${button}`)
}

/** Waits for the receipt, and checks that the newest transaction is paid. @throws Error if there is no transaction */
export async function expectReceipt(
  { page, fixture }: BrowserSession,
  expected: Partial<Transaction> = {},
): Promise<Transaction> {
  await page.waitForURL('**/pos/receipt?**')
  const [paid] = await fixture.transactions()
  if (!paid) throw new Error('there is no transaction')
  const facts = Object.fromEntries(Object.keys(expected).map((name) => [name, Reflect.get(paid, name)]))
  deepEqual({ successful: paid.successful, ...facts }, { successful: true, ...expected })
  equal(await page.locator('code').textContent(), paid.id)
  return paid
}

/** Waits for a message above the form. The form keeps only the expiry, and the card number has the focus. */
export async function expectRefusal({ page }: BrowserSession, text: string): Promise<void> {
  await page.locator('#alert').filter({ hasText: text }).waitFor()
  const values = await Promise.all(['#number', '#expiry', '#code'].map((field) => page.locator(field).inputValue()))
  deepEqual(values, ['', CARD.expiry, ''])
  await page.locator('#number:focus').waitFor()
}
