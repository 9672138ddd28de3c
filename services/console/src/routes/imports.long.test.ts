import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { beginUpload } from '../../test/begin-upload.ts'
import { signIn, type TestBrowser } from '../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createProduct } from '../../test/inventory.ts'
import { createUser, type RunningService, startService } from '../../test/services.ts'
import { XSS } from '../../test/stocked-console.ts'

let auth: RunningService
let inventory: RunningService
let test: TestConsole
let admin: TestBrowser
let viewer: TestBrowser
beforeAll(async () => {
  ;[auth, inventory] = await Promise.all([startService('auth'), startService('inventory')])
  test = await openTestConsole([auth, inventory])
  ;[admin, viewer] = await Promise.all([test.signedIn('admin'), test.signedIn('viewer')])
  await test.app.listen({ host: '127.0.0.1', port: 0 })
  await createProduct(inventory, 'TAKEN')
})
afterAll(async () => {
  await test.close()
  for (const service of [auth, inventory]) await service.stop()
})

const withoutTimes = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'TIME')
const OPTIONS = { mode: 'insert' }
const LONG = { timeout: 60_000 }

async function answerOf(sent: ClientRequest): Promise<{ readonly status: number | undefined; readonly html: string }> {
  const [response]: IncomingMessage[] = await once(sent, 'response')
  if (response === undefined) throw new Error('no answer')
  return { status: response.statusCode, html: await text(response) }
}

/** As large as a real upload: the buffers of a connection can contain only a part of it. */
const REST = `A,${'x'.repeat(1_000)}\n`.repeat(10_000)

describe('POST /imports', () => {
  it('303: shows the progress, and then the report with errors by line', async () => {
    await admin.open('/imports')
    const text = `sku,attributes\nNEW-1,{}\nTAKEN,{}\n"${XSS}",{\n`
    const begun = await admin.upload('/imports', OPTIONS, { name: 'autumn.csv', text })
    expect([begun.firstStatus, begun.status, begun.path]).toEqual([303, 200, expect.stringMatching(/^\/imports\/\d+$/)])
    const seen = async () => (await admin.open(begun.path, { 'x-trestle-poll': '1' })).html
    await expect.poll(seen, LONG).not.toContain('hx-trigger="every 2s"')
    const page = await admin.open(begun.path)
    const [, id] = begun.path.split('/imports/')
    expect([page.html.includes('<img'), withoutTimes(page.text).replaceAll(/admin-[\w-]+@/g, 'admin@')]).toEqual([
      false,
      `Import and export Import ${id} by admin@example.com started TIME Progress done 3 of 3 records · new products 3 of 3 records Report New 1 Changed 0 Left as they were 0 Failed 2 Errors by line Line SKU Problem 3 TAKEN A product with this sku already exists. 4 ${XSS} attributes: must be JSON Ended TIME .`,
    ])
    expect((await admin.open('/imports')).text).toContain('new products 3 of 3')
  })

  it('422: says why inventory refuses a file', async () => {
    await admin.open('/imports')
    const page = await admin.upload('/imports', OPTIONS, { name: 'wrong.csv', text: 'name\nA\n' })
    expect([page.status, page.text]).toEqual([
      422,
      expect.stringContaining('The column "name" (did you mean "attributes.name"?) is not known.'),
    ])
  })

  it('422: asks for a file whose name ends in a known extension', async () => {
    await admin.open('/imports')
    const page = await admin.upload('/imports', OPTIONS, { name: 'autumn.xlsx', text: 'PK' })
    expect([page.status, page.text]).toEqual([
      422,
      expect.stringContaining('Choose a file whose name ends in .csv, .ndjson or .jsonl.'),
    ])
  })

  it('403: refuses a file that does not come from a form of the session', async () => {
    await admin.open('/imports')
    const page = await admin.upload('/imports', { ...OPTIONS, _csrf: 'x' }, { name: 'a.csv', text: 'sku,attributes\n' })
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('This form did not come from the console')])
  })
})

describe('POST /imports, while the file is on its way', () => {
  it('422: says why inventory refuses the file, and reads the rest of it', async () => {
    const sent = await beginUpload(test, admin)
    const answer = answerOf(sent)
    sent.write(`name\n${REST}`)
    const { status, html } = await answer
    const problem = 'The column &quot;name&quot; (did you mean &quot;attributes.name&quot;?) is not known.'
    expect([status, html]).toEqual([422, expect.stringContaining(problem)])
    // A browser that cannot send the whole form does not show the response.
    await once(sent.end('\r\n--part--\r\n'), 'finish')
  })

  it.each([
    ['ends in its middle', (sent: ClientRequest) => sent.end()],
    ['breaks off', (sent: ClientRequest) => sent.destroy()],
  ])('403: refuses the file of a viewer, and keeps serving when it %s', async (_how, end) => {
    const sent = await beginUpload(test, viewer)
    const answer = answerOf(sent)
    sent.write(REST)
    const { status, html } = await answer
    expect([status, html]).toEqual([403, expect.stringContaining('Your role viewer may not do this')])
    await once(end(sent), 'close')
    const health = await test.app.inject('/health')
    expect([health.statusCode, health.json()]).toEqual([200, { status: 'ok' }])
  })

  it('400: refuses a form that ends in the middle of its file, and keeps nothing of it', async () => {
    const sent = await beginUpload(test, admin)
    const { status, html } = await answerOf(sent.end('sku,attributes\nHALF,{}\n'))
    expect([status, html]).toEqual([400, expect.stringContaining('<p>The request cannot be read.</p>')])
    expect(await inventory.query(`SELECT FROM inventory.products WHERE sku = 'HALF'`)).toEqual([])
  })

  it('303: keeps nothing of a file whose operator loses the role before its end', async () => {
    const fired = test.browser()
    const { email } = await createUser(auth, 'fired@example.com', 'admin')
    await signIn(fired, email)
    const sent = await beginUpload(test, fired)
    const answer = once(sent, 'response')
    sent.write('sku,attributes\nLATE,{}\n')
    const arriving = `SELECT FROM inventory.operator_imports WHERE state = 'arriving'`
    await expect.poll(() => inventory.query(arriving), LONG).toHaveLength(1)
    await auth.command('users', 'assign-role', email, 'none')
    sent.end('\r\n--part--\r\n')
    const [{ statusCode, headers }] = await answer
    expect([statusCode, headers.location]).toEqual([303, '/sign-in?ended=1'])
    const kept = `SELECT FROM inventory.operator_imports WHERE actor_email = '${email}'`
    await expect.poll(() => inventory.query(kept), LONG).toEqual([])
    expect(await inventory.query(`SELECT FROM inventory.products WHERE sku = 'LATE'`)).toEqual([])
  })

  it('303: a double click leads to one import', async () => {
    const both = [await beginUpload(test, admin, { _key: 'twice' }), await beginUpload(test, admin, { _key: 'twice' })]
    const answers = both.map((sent) => once(sent.end('sku,attributes\nTWICE,{}\n\r\n--part--\r\n'), 'response'))
    const seen = (await Promise.all(answers)).map(([{ statusCode, headers }]) => [statusCode, headers.location])
    expect(seen).toEqual([
      [303, expect.stringMatching(/^\/imports\/\d+$/)],
      [303, seen[0]?.[1]],
    ])
    const made = `SELECT count(*)::int AS count FROM inventory.operator_imports WHERE idempotency_key = 'twice'`
    expect(await inventory.query(made)).toEqual([{ count: 1 }])
  })
})

describe('GET /imports', () => {
  it('200: offers the export to a viewer, and the import to the role admin alone', async () => {
    const offers = await Promise.all(
      [viewer, admin].map(async (browser) => {
        const { status, html } = await browser.open('/imports')
        return [status, html.includes('action="/products/export"'), html.includes('type="file"')]
      }),
    )
    expect(offers).toEqual([
      [200, true, false],
      [200, true, true],
    ])
  })
})
