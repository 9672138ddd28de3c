import { hash } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { fastify } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDocumentPages } from './document-pages.ts'
import { chooseEncoding } from './shared-asset.ts'

const SCRIPT = '/docs/js/scalar.js'
const document = { openapi: '3.1.0', info: { title: 'Example' } }
const app = fastify({ routerOptions: { ignoreTrailingSlash: true } })
/** The payload of the last answer. */
let sent: unknown
app.addHook('onSend', async (_request, _reply, payload) => {
  sent = payload
  return payload
})

beforeAll(() => {
  const pages = createDocumentPages('Example', async () => Buffer.from(JSON.stringify(document)))
  app.get('/openapi.json', pages.document)
  app.get('/docs', pages.page)
  app.get(SCRIPT, pages.script)
})
afterAll(() => app.close())

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

interface Button {
  textContent?: string
  onclick?: () => void
}

/** Runs the script of the page until the document has arrived or failed. */
async function openPage(fetch: (url: string) => Promise<Response>, { hasLibrary = true } = {}) {
  const { payload } = await get('/docs/')
  const started: unknown[] = []
  const buttons: Button[] = []
  const waiting = { textContent: '', buttons, append: (button: Button) => buttons.push(button) }
  const asked: string[] = []
  let reloads = 0
  const library = { createApiReference: (...given: readonly unknown[]) => started.push(...given) }
  runInNewContext(/<script>([\s\S]*?)<\/script>/.exec(payload)?.[1] ?? '', {
    ...(hasLibrary ? { Scalar: library } : {}),
    location: { reload: () => (reloads += 1) },
    document: { querySelector: () => waiting, createElement: () => ({}), addEventListener: () => {} },
    fetch: (url: string) => {
      asked.push(url)
      return fetch(url)
    },
    MutationObserver: class {
      observe() {}
    },
  })
  await expect.poll(() => started.length + buttons.length).toBeGreaterThan(0)
  expect(asked).toEqual(hasLibrary ? ['/openapi.json'] : [])
  return { started, waiting, reloads: () => reloads }
}

describe('GET /openapi.json', () => {
  it('describes the API once for all clients, and again only after a failure', async () => {
    let timesDescribed = 0
    const failing = fastify()
    const pages = createDocumentPages('Example', async () => {
      timesDescribed += 1
      if (timesDescribed === 1) throw new Error('not yet')
      return Buffer.from(JSON.stringify(document))
    })
    failing.get('/openapi.json', pages.document)
    const ask = (encoding: string) => failing.inject({ url: '/openapi.json', headers: { 'accept-encoding': encoding } })
    const failed = await ask('identity')
    expect([failed.statusCode, failed.json()]).toEqual([
      500,
      { statusCode: 500, error: 'Internal Server Error', message: 'not yet' },
    ])
    for (const encoding of ['identity', 'gzip', 'br']) expect((await ask(encoding)).statusCode).toBe(200)
    expect((await ask('identity')).json()).toEqual(document)
    expect(timesDescribed).toBe(2)
    await failing.close()
  })
})

describe('GET /docs', () => {
  it('301: redirects to the page, which names its script by a relative URL', async () => {
    const answer = await get('/docs?theme=dark')
    expect([answer.statusCode, answer.headers.location]).toEqual([301, '/docs/'])
  })

  // ASVS 3.4.3, 3.4.5, 14.2.3
  it('200: serves a page that may only run its own scripts and call its own host', async () => {
    const page = await get('/docs/')
    expect([page.statusCode, page.headers['content-type'], page.headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ])
    const inline = /<script>([\s\S]*?)<\/script>/.exec(page.payload)?.[1] ?? ''
    expect(inline).toContain('/openapi.json')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain(`script-src 'self' 'sha256-${hash('sha256', inline, 'base64')}';`)
    expect(policy).toMatch(/^default-src 'none'; /)
    expect(policy).toMatch(/; frame-ancestors 'none'$/)
    expect(page.headers['referrer-policy']).toBe('no-referrer')
    expect(policy + page.payload).not.toMatch(/https?:\/\//)
  })

  // ASVS 14.3.3
  it('200: serves a page that keeps no credentials in the browser, and turns off what calls other hosts', async () => {
    const { started } = await openPage(async () => Response.json(document))
    expect(started).toEqual([
      '#app',
      {
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        showDeveloperTools: 'never',
        agent: { disabled: true },
        mcp: { disabled: true },
        persistAuth: false,
        operationTitleSource: 'summary',
        content: document,
      },
    ])
  })

  it.each([
    ['the service answers 504', async () => new Response('', { status: 504 }), 'The service answered 504.'],
    ['the network fails', async () => Promise.reject(new TypeError('Failed to fetch')), 'Failed to fetch'],
  ])('says when %s, and shows the document after "Try again"', async (_case, fail, reason) => {
    const answers = [fail, async () => Response.json(document)]
    const { started, waiting } = await openPage(async () => (await answers.shift()?.()) ?? Response.error())
    expect([started, waiting.textContent]).toEqual([[], `The API document could not be loaded. ${reason} `])
    const [button] = waiting.buttons
    expect(button?.textContent).toBe('Try again')
    button?.onclick?.()
    expect(waiting.textContent).toBe('Loading the API document …')
    await expect.poll(() => started.length).toBe(2)
    expect(started[1]).toHaveProperty('content', document)
  })

  it('says when its script has not arrived, and loads the page again after "Try again"', async () => {
    const { waiting, reloads } = await openPage(async () => Response.json(document), { hasLibrary: false })
    expect(waiting.textContent).toBe('The API document could not be loaded. Its script has not arrived. ')
    waiting.buttons[0]?.onclick?.()
    expect(reloads()).toBe(1)
  })

  it('200: serves a page with the name of the API, a link to the service, a language, an icon, what it waits for and a script whose URL names its release', async () => {
    const { payload } = await get('/docs/')
    expect(payload).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect(payload).toContain('<title>Example API</title>')
    expect(payload).toContain('<link rel="icon" href="data:image/svg+xml,')
    expect(payload).toContain('<a href="../">← Example</a>')
    // The browser already fetches the document while it loads the script.
    expect(payload).toContain('<link rel="preload" href="/openapi.json" as="fetch" crossorigin>')
    expect(payload).toContain('<p class="loading" role="status">Loading the API document …</p>')
    expect(payload).toMatch(/<script src="js\/scalar\.js\?v=\d+\.\d+\.\d+">/)
  })
})

describe(`GET ${SCRIPT}`, () => {
  it('200: serves the same script in each encoding, a third of its size when compressed', async () => {
    const [plain, gzip, br] = await Promise.all(
      ['identity', 'gzip, deflate', 'gzip, deflate, br'].map((accepted) =>
        get(SCRIPT, { 'accept-encoding': accepted }),
      ),
    )
    expect([plain, gzip, br].map((answer) => [answer?.statusCode, answer?.headers['content-encoding']])).toEqual([
      [200, undefined],
      [200, 'gzip'],
      [200, 'br'],
    ])
    const script = plain?.rawPayload ?? Buffer.alloc(0)
    expect(script.length).toBeGreaterThan(1_000_000)
    expect(gunzipSync(gzip?.rawPayload ?? '').equals(script)).toBe(true)
    expect(brotliDecompressSync(br?.rawPayload ?? '').equals(script)).toBe(true)
    expect(br?.rawPayload.length).toBeLessThan(script.length / 3)
    expect(new Set([plain, gzip, br].map((answer) => answer?.headers.etag)).size).toBe(3)
    const { etag, date, ...headers } = br?.headers ?? {}
    expect(headers).toEqual({
      'content-type': 'application/javascript; charset=utf-8',
      'content-encoding': 'br',
      'content-length': String(br?.rawPayload.length),
      connection: 'keep-alive',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    })
  })

  it('sends every client the same bytes in memory', async () => {
    await get(SCRIPT)
    const first = sent
    expect(first).toBeInstanceOf(Buffer)
    sent = undefined
    await get(SCRIPT)
    expect(sent).toBe(first)
  })

  it.each([
    { size: 'three megabytes', bytes: 3_000_000, turns: 20 },
    { size: 'ten kilobytes', bytes: 10_000, turns: 1 },
  ])('sends 20 clients who waited for $size in $turns turns of the event loop', async ({ bytes, turns }) => {
    const app = fastify()
    const loaded = Promise.withResolvers<Buffer>()
    app.get('/openapi.json', createDocumentPages('Example', () => loaded.promise).document)
    let waiting = 0
    app.addHook('preHandler', async () => {
      waiting += 1
    })
    let turn = 0
    const turnsOfAnswers = new Set<number>()
    app.addHook('onSend', async () => {
      turnsOfAnswers.add(turn)
      waiting -= 1
    })
    const answers = Array.from({ length: 20 }, () => app.inject('/openapi.json'))
    await expect.poll(() => waiting).toBe(20)
    const countTurns = () => {
      turn += 1
      if (waiting > 0) setImmediate(countTurns)
    }
    countTurns()
    loaded.resolve(Buffer.alloc(bytes, ' '))
    await Promise.all(answers)
    expect(turnsOfAnswers.size).toBe(turns)
    await app.close()
  })

  it.each(['the tag', 'W/the tag', '"other", the tag', '*'])(
    '304: sends nothing to a client that has the bytes already and says %s',
    async (condition) => {
      const { headers } = await get('/openapi.json', { 'accept-encoding': 'gzip' })
      const etag = String(headers.etag)
      const again = await get('/openapi.json', {
        'accept-encoding': 'gzip',
        'if-none-match': condition.replace('the tag', etag),
      })
      expect([again.statusCode, again.rawPayload.length, again.headers.etag]).toEqual([304, 0, etag])
    },
  )

  it('200: sends the document to a client that has another version of it', async () => {
    const plain = await get('/openapi.json')
    const again = await get('/openapi.json', { 'if-none-match': '"other"' })
    expect([again.statusCode, again.body]).toEqual([200, plain.body])
  })
})

describe('chooseEncoding', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['deflate', 'identity'],
    ['gzip', 'gzip'],
    ['GZIP;q=0.5', 'gzip'],
    ['gzip, br', 'br'],
    ['gzip, br;q=0', 'gzip'],
    ['identity;q=1, br;q=0.1', 'identity'],
    ['identity;q=0.5, br;q=0.1, gzip;q=0.9', 'gzip'],
    ['br;q=0.1', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['identity, gzip, br', 'br'],
    ['identity;q=0.2, *;q=0.1', 'identity'],
    ['*', 'br'],
    ['br;q=0, *;q=0.1', 'gzip'],
    ['*;q=0', 'identity'],
    ['br;q=nonsense', 'identity'],
  ])('chooses for %s the encoding %s', (accepted, encoding) => {
    expect(chooseEncoding(accepted)).toBe(encoding)
  })
})
