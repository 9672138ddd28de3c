import { readFileSync } from 'node:fs'
import { type StubAnswer, type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { SeenPage, TestBrowser } from '../test/browser.ts'
import { openTestConsole, type TestConsole } from '../test/console-app.ts'
import { type RunningService, startService } from '../test/services.ts'
import * as errors from './errors.ts'

let auth: RunningService
let inventory: StubProvider
/** The answer of inventory. If `undefined`, it does not answer. */
let answer: StubAnswer | undefined
let test: TestConsole
let admin: TestBrowser
let viewer: TestBrowser
beforeAll(async () => {
  auth = await startService('auth')
  inventory = await startStubProvider(() => answer)
  test = await openTestConsole([auth, { name: 'inventory', url: inventory.url }])
  admin = await test.signedIn('admin')
  viewer = await test.signedIn('viewer')
})
afterAll(async () => {
  await test.close()
  await inventory.close()
  await auth.stop()
})

/** Opens a page of inventory, which returns this answer. */
const openWhile = (given: StubAnswer, path = '/locations') => {
  answer = given
  return admin.open(path)
}

/** Sends a body to a form in a way that no browser does. */
async function send(url: string, type: string, payload: string) {
  const headers = { 'content-type': type, origin: test.origin }
  const cookies = Object.fromEntries(admin.cookies)
  const { statusCode: status, body } = await test.app.inject({ method: 'POST', url, headers, cookies, payload })
  const [, main = ''] = /<main[^>]*>(.*)<\/main>/s.exec(body) ?? []
  return {
    status,
    text: main
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  }
}

/** Makes four pages of an operator wait for inventory, and opens a fifth, which gets no slot in ten seconds. */
async function openFifth(): Promise<SeenPage> {
  answer = undefined
  const busy = await test.signedIn('viewer')
  const asked = inventory.requests.length
  const held = Array.from({ length: 4 }, () => busy.open('/products/export'))
  await vi.waitFor(() => expect(inventory.requests).toHaveLength(asked + 4))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const fifth = busy.open('/locations')
    // A waiting page has two timers: one for the whole answer, and one for its slot.
    while (vi.getTimerCount() < 2) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(10_000)
    return await fifth
  } finally {
    vi.useRealTimers()
    void Promise.allSettled(held)
  }
}

type ErrorName = Exclude<keyof typeof errors, 'FORM_TEXTS' | 'notReady'>

interface ErrorCase {
  readonly raise: () => Promise<Pick<SeenPage, 'status' | 'text'>>
  readonly status: number
  readonly text: string
}

/** Errors that are shown instead of a page. */
const pages: Partial<Record<ErrorName, ErrorCase>> = {
  pageNotFound: {
    raise: () => admin.open('/nowhere'),
    status: 404,
    text: 'Trestle console 404 Not found There is no such page. Go to the overview',
  },
  objectNotFound: {
    raise: () => openWhile({ status: 404 }),
    status: 404,
    text: '404 Not found There is no such object, or it is gone. Go to the overview',
  },
  formRefused: {
    raise: () => test.browser().post('/sign-in', {}, 'https://elsewhere.example'),
    status: 403,
    text: 'Trestle console 403 Not allowed This form did not come from the console. Open the page again, at the address of the console. Go to the overview',
  },
  operatorForbidden: {
    raise: () => openWhile({ status: 403 }),
    status: 403,
    text: '403 Not allowed Your role may not do this. Go to the overview',
  },
  actionForbidden: {
    raise: () => viewer.open('/locations/new'),
    status: 403,
    text: '403 Not allowed Your role viewer may not do this; admin may. Go to the overview',
  },
  serviceRefused: {
    raise: () => openWhile({ status: 400, body: { error: { type: 'X', description: 'The cursor is not ours' } } }),
    status: 422,
    text: '422 Refused The cursor is not ours. Go to the overview',
  },
  tooManyRequests: {
    raise: () => openWhile({ status: 429 }),
    status: 429,
    text: '429 Too many requests Too many requests. Wait a minute. Go to the overview',
  },
  serviceUnavailable: {
    raise: () => openWhile({ status: 500 }),
    status: 503,
    text: '503 Not available Inventory does not answer. Its pages work again as soon as it does. Go to the overview',
  },
  serviceBusy: {
    raise: () => openWhile({ status: 503 }, '/products/export'),
    status: 503,
    text: '503 Not available Inventory has too much to do. Try again in a minute. Go to the overview',
  },
  requestMalformed: {
    raise: () => send('/imports', 'multipart/form-data', 'no part'),
    status: 400,
    text: '400 Not valid The request cannot be read. Go to the overview',
  },
  valuesInvalid: {
    raise: () => admin.open('/locations/shelf'),
    status: 400,
    text: '400 Not valid A value of the form or the address is not valid. Go to the overview',
  },
  bodyTooLarge: {
    raise: () => admin.post('/locations/new', { name: 'x'.repeat(262_144) }),
    status: 413,
    text: '413 Too large The form is too large. Go to the overview',
  },
  mediaTypeUnsupported: {
    raise: () => send('/locations/new', 'application/json', '{}'),
    status: 415,
    text: '415 Not a form The console takes forms only. Go to the overview',
  },
  consoleBusy: {
    raise: openFifth,
    status: 503,
    text: 'Trestle console 503 Not available The console has too much to do. Try again. Go to the overview',
  },
  consoleRefused: {
    raise: () => openWhile({ status: 401 }),
    status: 503,
    text: '503 Not available Inventory refuses the operator key of the console, or your sign-in. Its settings say why. Go to the overview',
  },
  answerUnreadable: {
    raise: () => openWhile({ body: { data: 'no list' } }),
    status: 503,
    text: '503 Not available The console cannot read the answer of inventory. Look between them for a proxy, or for another release. Go to the overview',
  },
  consoleFailed: {
    raise: async () => {
      const broken = vi.spyOn(test.app.deps.sessionCipher, 'formToken').mockImplementationOnce(() => {
        throw new Error('broken')
      })
      return admin.open('/locations').finally(() => broken.mockRestore())
    },
    status: 500,
    text: 'Trestle console 500 Something went wrong Something went wrong in the console. Go to the overview',
  },
}

/** Errors that a form shows, by the tests that compare the page. Of several sentences, only the first is given. */
const forms: Partial<Record<ErrorName, readonly [message: string, test: string]>> = {
  amountInvalid: [errors.amountInvalid({ currency: 'EUR' }).message, 'routes/transactions.long.test.ts'],
  amountTooSmall: [errors.amountTooSmall({ zero: 'EUR 0.00' }).message, 'routes/transactions.long.test.ts'],
  amountTooLarge: [errors.amountTooLarge({ most: 'EUR 999.00' }).message, 'routes/transactions.long.test.ts'],
  percentInvalid: [errors.percentInvalid().message, 'routes/merchants.long.test.ts'],
  advanceInvalid: [errors.advanceInvalid().message, 'routes/merchants.long.test.ts'],
  nothingChanged: [errors.nothingChanged().message, 'routes/users.long.test.ts'],
  answerLost: [errors.answerLost().message, 'routes/transactions.long.test.ts'],
  formStale: [errors.formStale().message, '../test/stale-forms.test.ts'],
  formSpent: [errors.formSpent().message, 'routes/transactions.long.test.ts'],
}

describe('the catalogue', () => {
  const cases = Object.entries(pages).map(([name, { status, ...one }]) => [status, name, one] as const)

  it.each(cases)('answers %i with the whole page of %s', async (status, _name, { raise, text }) => {
    const page = await raise()
    expect([page.status, page.text]).toEqual([status, text])
  })

  it('leads to the sign-in instead of a page without a session', async () => {
    const { statusCode, headers, body } = await test.app.inject('/locations')
    expect([statusCode, headers.location, body]).toEqual([303, '/sign-in?next=%2Flocations', ''])
  })

  it('has a case for every error', () => {
    const raised = [...Object.keys(pages), ...Object.keys(forms), 'notSignedIn']
    const { FORM_TEXTS: _shown, notReady: _asJson, ...made } = errors
    expect(raised.toSorted()).toEqual(Object.keys(made).toSorted())
    const missing = Object.entries(forms).filter(
      ([, [message, file]]) =>
        !readFileSync(new URL(file, import.meta.url), 'utf8').includes(message.split('. ')[0] ?? ''),
    )
    expect(missing).toEqual([])
  })
})
